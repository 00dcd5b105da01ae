// What other processes append to a store, read as it comes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/record/record.hpp"

namespace xtune::cluster {

/// The record files of one kernel on one architecture, by the attempts that write them. A line counts once it is whole.
class RecordTail {
 public:
  RecordTail(std::filesystem::path store, std::string arch, std::string kernel);
  /// The whole lines that these attempts have appended since the last call; damaged lines, and files of a newer xtune
  /// from their header on, are passed over. Throws Error(io) where a file that is there cannot be read.
  std::vector<record::Record> read(const std::set<std::string>& attempts);
  /// Whole lines of each attempt so far, headers left out, damaged ones too.
  const std::map<std::string, std::uint64_t>& lines() const noexcept { return lines_; }

 private:
  struct File {
    std::uint64_t read_bytes = 0;
    bool newer = false;
  };
  std::filesystem::path store_;
  std::string arch_, kernel_;
  std::map<std::filesystem::path, File> files_;
  std::map<std::string, std::uint64_t> lines_;
};

}  // namespace xtune::cluster
