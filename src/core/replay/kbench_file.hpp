// kbench's YAML file, read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/space.hpp"

namespace xtune::replay {

/// The product of its values.
struct KbenchGroup {
  std::vector<space::Parameter> parameters;  ///< compile_time: a -D
};

/// Groups of the same names, in the order of the first.
struct KbenchFamily {
  std::vector<KbenchGroup> groups;
};

struct KbenchFile {
  std::string name;
  std::filesystem::path file;  ///< absolute
  std::vector<space::Expression> rules;
  std::vector<KbenchFamily> families;
};

/// All of one type, each once: words where one is a word, else floats where one is a float. values: not empty.
std::vector<Value> alike(const std::vector<Value>& values);
/// The value, as alike makes it beside one of the other's type.
Value as_type_of(const Value& other, const Value& value);

/// As import_kbench (kbench.hpp) says.
KbenchFile read_kbench(const std::string& text, const std::filesystem::path& path);

}  // namespace xtune::replay
