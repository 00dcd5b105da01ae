// All records of a store that a filter takes, and which record files these are in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/store/bundle.hpp"

namespace xtune::store {

/// The record files of the kernels and architectures that a filter takes.
struct FilteredParts {
  std::map<std::pair<std::string, std::string>, std::vector<record::RecordSource>> parts;  ///< by kernel, architecture
  std::uint64_t unreadable = 0;

  /// Throws Error(io) where something could not be read.
  void require_something(const std::filesystem::path& store, const std::vector<std::string>& warnings) const;
};
/// What cannot be listed is a warning. Throws Error(invalid_argument) without a store, or where the store has nothing
/// of an architecture or kernel that is asked for; Error(io) where nothing of them could be read.
FilteredParts filtered_parts(const std::filesystem::path& store, const WinnerFilter& filter,
                             std::vector<std::string>& warnings);
/// sizes: names of all stored problems' sizes; found: whether one of the problems is asked for. Throws
/// Error(invalid_argument) for the name of a size that no problem has, Error(nothing_valid) where none is found.
void require_problem(const WinnerFilter& filter, const std::set<std::string>& sizes, bool found);

/// The records of one kernel on one architecture, in the order of time.
struct StoredMeasurements {
  std::string kernel, arch;
  std::vector<record::Record> records;  ///< at least one
};
/// Every record whose problem the filter takes, by kernel and architecture: failed, pruned and finals too. Throws what
/// winners_of does.
std::vector<StoredMeasurements> measurements_of(const std::filesystem::path& store, const WinnerFilter& filter,
                                                std::vector<std::string>& warnings);

/// The same as a CSV table, a line for each record.
std::string export_csv(const std::vector<StoredMeasurements>& measurements);

}  // namespace xtune::store
