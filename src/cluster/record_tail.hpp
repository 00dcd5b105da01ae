// Reads records while other processes append them to a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/record/record.hpp"

namespace xtune::cluster {

/// The record files of one kernel on one architecture, by the attempts that write them. A line counts once it is
/// complete.
class RecordTail {
 public:
  RecordTail(std::filesystem::path store, std::string arch, std::string kernel);
  /// The complete lines that these attempts have appended since the last call; damaged lines are skipped, and files of
  /// a newer xtune from their header on. Throws Error(io) if an existing file cannot be read.
  std::vector<record::Record> read(const std::set<std::string>& attempts);
  /// Number of complete lines of each attempt so far, without headers, but with damaged ones.
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
