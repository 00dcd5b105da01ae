// The last instruction computes the value.
#include "core/space/result_kind.hpp"

#include "core/space/code.hpp"

namespace xtune::space {

bool is_always_a_number(const Expression& expression) noexcept {
  using expr::Opcode;
  const auto& instructions = expression.code().instructions;
  // If a jump leads to the end, the last instruction is not the only one that may be executed last.
  for (const expr::Instruction& each : instructions)
    if (expr::is_jump(each.opcode) && each.operand >= instructions.size()) return false;
  const Opcode last = instructions.back().opcode;
  return last == Opcode::arithmetic || last == Opcode::negate || last == Opcode::plus || last == Opcode::call;
}

}  // namespace xtune::space
