// Groups of a benchmark's parameters, as kbench lists them, and what options of the import make of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/space.hpp"

namespace xtune::replay {

constexpr std::size_t max_kbench_values = 100'000;  ///< of one name

/// The product of its values.
struct KbenchGroup {
  std::vector<space::Parameter> parameters;    ///< compile_time: a -D
  std::map<std::string, std::string> options;  ///< a parameter's name to its option, where that is not an identifier
  std::vector<space::Expression> rules;        ///< of the group's file
};

/// Groups of the same names, in the order of the first.
struct KbenchFamily {
  std::vector<KbenchGroup> groups;
  /// Names that --cases takes out of the groups: as many values each as there are cases, in the cases' order.
  std::vector<space::Parameter> cases;
};

/// The option of the benchmark that sets the parameter, without dashes before it.
std::string option_of(const KbenchGroup& group, const std::string& parameter);
const space::Parameter* find_parameter(const KbenchGroup& group, const std::string& name);

/// A parameter without values. option: as a file writes it, with $ for what the program takes when it runs. A spelling
/// that is not an identifier ("bench-max-iters") goes into options.
space::Parameter named_parameter(const std::string& option, std::map<std::string, std::string>& options);
/// Why a spec cannot have a parameter of that name; empty: it can. option: as a file writes it.
std::string name_complaint(const std::string& name, const std::string& option);

/// The values of a name, from what is written for it: all of it Python (python_values.hpp), or all of it words.
/// refused: called with the number of the item at fault, or the number of items, and the message; it throws.
std::vector<Value> written_values(const std::string& name, const std::vector<std::string>& items,
                                  const std::function<void(std::size_t item, const std::string& why)>& refused);

/// All of one type, each once: words where one is a word, else floats where one is a float. values: not empty.
std::vector<Value> alike(const std::vector<Value>& values);
/// The value, as alike makes it beside one of the other's type.
Value as_type_of(const Value& other, const Value& value);

/// "NAME:VALUE" or "NAME:[VALUE, VALUE]" of --param: each group's parameter of that name, with $ or without, gets these
/// values; a group without it gets the parameter. Throws Error(invalid_argument).
void set_params(std::vector<KbenchGroup>& groups, const std::vector<std::string>& params);

/// Makes the configurations of the shapes' groups the cases of every family. Throws Error(invalid_argument) if the
/// groups' names differ, or if one is a parameter of a family too.
void set_shapes(std::vector<KbenchFamily>& families, const std::vector<KbenchGroup>& shapes);

/// The groups by their names. cases: names whose values become cases; groups are then of one family only if all other
/// names have the same values, too. Throws Error(invalid_argument) for a name that no group has, and where nothing is
/// left to tune.
std::vector<KbenchFamily> families_of(std::vector<KbenchGroup> groups, const std::vector<std::string>& cases);

}  // namespace xtune::replay
