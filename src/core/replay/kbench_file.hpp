// Reads kbench's YAML file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/space.hpp"

namespace xtune::replay {

/// A product of the parameters' values.
struct KbenchGroup {
  std::vector<space::Parameter> parameters;  ///< compile_time: as a -D
};

/// Groups with the same names, in the order of the first.
struct KbenchFamily {
  std::vector<KbenchGroup> groups;
};

struct KbenchFile {
  std::string name;
  std::filesystem::path file;  ///< absolute
  std::vector<space::Expression> rules;
  std::vector<KbenchFamily> families;
};

/// Converts values to one type, without duplicates: to words if one is a word, else to floats if one is a float. values
/// must not be empty.
std::vector<Value> alike(const std::vector<Value>& values);
/// Converts the value as alike() does for a list of both values.
Value as_type_of(const Value& other, const Value& value);

/// See import_kbench (kbench.hpp).
KbenchFile read_kbench(const std::string& text, const std::filesystem::path& path);

}  // namespace xtune::replay
