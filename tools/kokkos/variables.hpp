// Variables that Kokkos or an application asks values for, as parameters of a space.
#pragma once

#include <optional>
#include <string>

#include "core/space/space.hpp"
#include "tools/kokkos/abi.hpp"

namespace xtune::kokkos_tools {

/// Values of a range are at most this many, spread evenly.
inline constexpr std::size_t max_range_values = 64;
/// A set with more values is not tuned.
inline constexpr std::size_t max_set_values = 65536;

/// A declared variable. Names and values are those that Kokkos gave.
struct Variable {
  std::string name;
  std::int32_t type = abi::type_integer;
  std::vector<Value> values;  ///< distinct, not empty; with fewer than two there is nothing to tune
};

/// Throws Error(unsupported) with the reason for a variable that cannot be tuned: candidates that are unbounded, not
/// finite, empty or too many, text that is not UTF-8, or a type or kind that this version does not know.
Variable read_variable(const char* name, const abi::VariableInfo& info);

/// Writes the value; false, and nothing is written, if it does not have the variable's type.
bool write_value(std::int32_t type, const Value& value, abi::Value& out);
/// The value that Kokkos passed. nullopt: of an unknown type, not finite, not UTF-8, or text without an end.
std::optional<Value> read_value(std::int32_t type, const abi::Value& value);

}  // namespace xtune::kokkos_tools
