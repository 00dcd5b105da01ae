// A store's winners, and its measurements, in formats for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/store/record.hpp"
#include "core/store/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// What a filter selects of a store: its winners, all valid configurations, or all records.

/// The fastest record of each kernel, architecture, problem and kind of device, by median, with the most recently used
/// driver; complete, like its line.
struct Winner {
  std::string arch, kernel;  ///< as in the records
  Record record;
  std::string line;
  /// The first valid configurations and their medians on one scale, as many as were asked for: the winner's, then those
  /// that follow it, all judged alike.
  std::vector<std::pair<Bindings, double>> times_ms;
  std::int64_t newest_unix_ms = 0;  ///< of these
};
struct WinnerFilter {
  std::vector<std::string> archs, kernels;     ///< empty: all
  std::map<std::string, std::string> problem;  ///< sizes that a problem must have, as text; empty: all problems
  /// Whether a record is of the spec as it is now; empty: no spec is asked for, and all are.
  std::function<bool(const Record&)> is_present = {};
  bool takes(const Bindings& sizes) const;
  bool takes(const Record& record) const { return takes(record.problem) && (!is_present || is_present(record)); }
};
/// Sorted by kernel, architecture, problem, device; each with up to `most` configurations. Damage and
/// newer versions are warnings. Throws Error(invalid_argument) without a store, or if the store has nothing of a
/// requested architecture or kernel, or no problem with a size of that name; Error(nothing_valid) if it does not have
/// the requested problem; Error(io) if none of the files could be read.
std::vector<Winner> winners_of(const std::filesystem::path& store, const WinnerFilter& filter,
                               std::vector<std::string>& warnings, std::size_t most = 1);
/// The error for a store, or a selection of it, without winners.
Error no_answers();

/// The record files of the kernels and architectures that a filter selects.
struct FilteredParts {
  std::map<std::pair<std::string, std::string>, std::vector<RecordSource>> parts;  ///< by kernel, architecture
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
  std::vector<Record> records;  ///< at least one
};
/// Every record whose problem the filter selects, by kernel and architecture, including failed, pruned and finals
/// records. Throws as winners_of does.
std::vector<StoredMeasurements> measurements_of(const std::filesystem::path& store, const WinnerFilter& filter,
                                                std::vector<std::string>& warnings);

/// A text that is equal for records of one kernel, problem and kind of device.
std::string group_of(const Record& record);

/// [{"kernel", "arch", "problem", "config", "time_ms", "interval_ms", "device", "backend", "driver", "tainted",
/// "artifact_key", "key", "unix_time_ms"}, ...], and "others" where there are any.
nlohmann::ordered_json export_json(const std::vector<Winner>& winners);

/// One kernel's records for one problem on one device, for Kernel Tuner's results file. Throws Error(invalid_argument)
/// with the choices if several remain.
std::vector<Record> records_of_task(const std::filesystem::path& store, const WinnerFilter& filter,
                                    std::vector<std::string>& warnings);

/// For decision trees over problem sizes, which python/xtune/compat/headers.py grows: [{"kernel", "arch", "configs",
/// "cases": [{"problem", "device", "best", "best_ms", "times_ms"}, ...]}, ...]. smallest_cover picked the
/// configurations, at most max_configs; times_ms are theirs, null if not measured. within: how much slower than the
/// best of a case is good enough. Cases whose parameters or dimensions differ from the newest case's are skipped with a
/// warning.
nlohmann::ordered_json tree_groups(const std::vector<Winner>& cases, std::size_t max_configs, double within,
                                   std::vector<std::string>& warnings);

/// The measurements as a CSV table, a line for each record. The times of one problem on one kind of device are put on
/// one scale, that of its best by the median; the column `scale` has the factors.
std::string export_csv(std::vector<StoredMeasurements> measurements);

}  // namespace xtune::store
