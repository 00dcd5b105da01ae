#include "emulator/operations.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/text.hpp"

namespace xtune::emulator {
namespace {

using Known = std::unordered_map<std::string, KnownOperation>;

/// A name without # is that of the type at its end.
void add(Known& all, const std::string& prefix, const std::string& name, const Operation& operation, Kind kind) {
  const std::size_t mark = name.find('#');
  const std::vector<std::string> types = base::split(operation.types, ' ');
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::string whole = prefix + name;
    if (mark != std::string::npos)
      whole.replace(prefix.size() + mark, 1, types[i]);
    else if (types.size() > 1 && (types[i].empty() || !name.ends_with(types[i])))
      continue;
    all.emplace(whole, KnownOperation{operation.run.at(i), kind, operation.sources});
  }
}

const Known& known_operations() {
  static const Known known = [] {
    Known all;
    for (const OperationTable* const table :
         {&control_operations, &scalar_operations, &scalar_memory_operations, &integer_operations, &float_operations,
          &half_operations, &compare_operations, &packed_operations, &lane_operations, &matrix_operations,
          &lds_operations, &global_operations, &buffer_operations, &lds_updates, &global_accesses, &flat_accesses,
          &scratch_accesses, &global_updates, &flat_updates})
      for (const Operation& one : table->operations)
        for (const std::string& name : base::split(one.names, ' ')) add(all, table->prefix, name, one, table->kind);
    return all;
  }();
  return known;
}

}  // namespace

KnownOperation find_operation(std::string_view mnemonic) {
  const auto found = known_operations().find(std::string(mnemonic));
  return found == known_operations().end() ? KnownOperation() : found->second;
}

int mnemonics(Kind kind) {
  return static_cast<int>(
      std::ranges::count_if(known_operations(), [&](const auto& one) { return one.second.kind == kind; }));
}

}  // namespace xtune::emulator
