// kbench's YAML file, read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/space.hpp"

namespace xtune {

/// The product of its values.
struct KbenchGroup {
  std::vector<Parameter> parameters;  ///< compile_time: a -D
};

/// Groups of the same names, in the order of the first.
struct KbenchFamily {
  std::vector<KbenchGroup> groups;
};

struct KbenchFile {
  std::string name;
  std::filesystem::path file;  ///< absolute
  std::vector<Expression> rules;
  std::vector<KbenchFamily> families;
};

/// As import_kbench (kbench.hpp) says.
KbenchFile read_kbench(const std::string& text, const std::filesystem::path& path);

}  // namespace xtune
