// kbench's YAML files, read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/replay/kbench.hpp"
#include "core/replay/kbench_groups.hpp"

namespace xtune::replay {

struct KbenchFile {
  std::string name;
  std::filesystem::path file;  ///< absolute
  std::vector<KbenchGroup> groups;
};

/// What a file describes: a benchmark with its parameters, or only shapes, whose name and file are neither required nor
/// read.
enum class KbenchPart { benchmark, shapes };

/// As import_kbench (kbench.hpp) says, of one file.
KbenchFile read_kbench(const KbenchText& text, KbenchPart part);

}  // namespace xtune::replay
