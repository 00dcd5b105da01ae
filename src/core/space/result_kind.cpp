// The last instruction makes the value.
#include "core/space/result_kind.hpp"

#include "core/space/code.hpp"

namespace xtune::space {

bool is_always_a_number(const Expression& expression) noexcept {
  using expr::Opcode;
  const auto& instructions = expression.code().instructions;
  // Where a jump leads behind the last one, that is not the only one that can come last.
  for (const expr::Instruction& each : instructions)
    if (expr::is_jump(each.opcode) && each.operand >= instructions.size()) return false;
  const Opcode last = instructions.back().opcode;
  return last == Opcode::arithmetic || last == Opcode::negate || last == Opcode::plus || last == Opcode::call;
}

}  // namespace xtune::space
