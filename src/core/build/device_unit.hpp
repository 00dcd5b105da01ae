// What of a program's source belongs to its kernels: the rest is blanked before a compiler sees it.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xtune::build {

/// What a spec names of its source.
struct UnitRoots {
  std::set<std::string> entries;  ///< kernels, without scopes and template arguments
  std::string text{};             ///< code with further names: definitions, template arguments, constants' variables
};

struct DeviceUnit {
  std::string source;                             ///< as long as before, with the same lines and columns
  std::map<std::string, std::size_t> left_out{};  ///< names that were blanked, with the lines of their text
  std::map<std::string, std::string> headers{};   ///< those that were changed, by their names as given
};

/// Blanks what no kernel needs, at namespace scope: functions, variables and types whose names no kept text mentions.
/// Kept are the entries (all functions with a mark such as __device__, where an entry is not found), what they mention
/// directly or indirectly, also by macros, and what may matter without its name: operators, specialisations of types,
/// enums, macros that make code, and everything that is not understood. A function without a mark is not kept beside
/// one of its name that has a mark, unless it is constexpr. Directives stay in place, except #include and #pragma
/// within blanked code. A text that holds no host function and no host variable is returned as it is.
DeviceUnit device_unit(const std::string& source, const std::map<std::string, std::string>& headers,
                       const UnitRoots& roots);

/// The unit without the blanks of lines that it lacks, and without such lines at its end: what the omitted code looked
/// like there does not count.
std::string without_traces(const std::string& source, const std::string& unit);

/// The number of lines that are blank in the unit and not in the source.
std::size_t lines_left_out(const std::string& source, const std::string& unit);

}  // namespace xtune::build
