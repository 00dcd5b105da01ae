#include "emulator/operations.hpp"

#include <string>
#include <unordered_map>

#include "base/text.hpp"

namespace xtune::emulator {
namespace {

using OperationTable = std::unordered_map<std::string, const Operation*>;

void add_operations(OperationTable& table, std::span<const Operation> part) {
  for (const Operation& one : part) {
    std::string_view left = one.names;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(' '), left.size());
      if (end > 0) table.emplace(left.substr(0, end), &one);
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }
}

const OperationTable& operation_table() {
  static const OperationTable table = [] {
    OperationTable all;
    for (const auto part :
         {control_operations(), scalar_operations(), scalar_memory_operations(), integer_operations(),
          float_operations(), half_operations(), compare_operations(), packed_operations(), lane_operations(),
          matrix_operations(), lds_operations(), global_operations(), buffer_operations()})
      add_operations(all, part);
    return all;
  }();
  return table;
}

}  // namespace

const Operation* find_operation(std::string_view mnemonic) {
  const auto found = operation_table().find(std::string(mnemonic));
  return found == operation_table().end() ? nullptr : found->second;
}

int mnemonics(Kind kind) {
  int count = 0;
  for (const auto& [name, operation] : operation_table()) count += operation->kind == kind ? 1 : 0;
  return count;
}

}  // namespace xtune::emulator
