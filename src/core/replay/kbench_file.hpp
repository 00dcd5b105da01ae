// kbench's YAML files, read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/replay/kbench_groups.hpp"

namespace xtune::replay {

struct KbenchFile {
  std::string name;
  std::filesystem::path file;  ///< absolute
  std::vector<KbenchGroup> groups;
};

/// As import_kbench (kbench.hpp) says, of one file.
KbenchFile read_kbench(const std::string& text, const std::filesystem::path& path);

}  // namespace xtune::replay
