// All records of a store that a filter selects, and their record files.
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

/// The record files of the kernels and architectures that a filter selects.
struct FilteredParts {
  std::map<std::pair<std::string, std::string>, std::vector<record::RecordSource>> parts;  ///< by kernel, architecture
  std::uint64_t unreadable = 0;

  /// Throws Error(io) if something could not be read.
  void require_something(const std::filesystem::path& store, const std::vector<std::string>& warnings) const;
};
/// Directories that cannot be listed are warnings. Throws Error(invalid_argument) without a store, or if the store has
/// nothing of a requested architecture or kernel; Error(io) if none of it could be read.
FilteredParts filtered_parts(const std::filesystem::path& store, const WinnerFilter& filter,
                             std::vector<std::string>& warnings);
/// sizes: names of the sizes of all stored problems; found: whether a requested problem is stored. Throws
/// Error(invalid_argument) for a size name that no problem has, Error(nothing_valid) if no requested problem is stored.
void require_problem(const WinnerFilter& filter, const std::set<std::string>& sizes, bool found);

/// The records of one kernel on one architecture, ordered by time.
struct StoredMeasurements {
  std::string kernel, arch;
  std::vector<record::Record> records;  ///< at least one
};
/// Every record whose problem the filter selects, by kernel and architecture, including failed, pruned and finals
/// records. Throws as winners_of does.
std::vector<StoredMeasurements> measurements_of(const std::filesystem::path& store, const WinnerFilter& filter,
                                                std::vector<std::string>& warnings);

/// A text that is equal for records of one kernel, problem and kind of device.
std::string group_of(const record::Record& record);

/// The same as a CSV table, a line for each record. The times of one problem on one kind of device are put on one
/// scale, that of its best by the median; the column `scale` has the factors.
std::string export_csv(std::vector<StoredMeasurements> measurements);
/// The same as kbench's output.csv, a line for each measurement of a search that passed: name, met (ms), iters, the
/// metrics, spec.
std::string export_kbench(const std::vector<StoredMeasurements>& measurements);

}  // namespace xtune::store
