// A temporary directory in which tests write files.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "system/files.hpp"

namespace xtune::test {

struct FileTree {
  system::TemporaryDirectory folder;
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  /// Makes the directories of the file's path.
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
};

}  // namespace xtune::test
