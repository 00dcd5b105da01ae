// A store's winners, and its measurements, in formats for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
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
};
struct WinnerFilter {
  std::vector<std::string> archs, kernels;     ///< empty: all
  std::map<std::string, std::string> problem;  ///< sizes that a problem must have, as text; empty: all problems
  bool takes(const Bindings& sizes) const;
};
/// Sorted by kernel, architecture, problem, device. Damage and newer versions are warnings. Throws
/// Error(invalid_argument) without a store, or if the store has nothing of a requested architecture or kernel, or no
/// problem with a size of that name; Error(nothing_valid) if it does not have the requested problem; Error(io) if none
/// of the files could be read.
std::vector<Winner> winners_of(const std::filesystem::path& store, const WinnerFilter& filter,
                               std::vector<std::string>& warnings);
/// The error for a store, or a selection of it, without winners.
Error no_answers();

/// A problem on a kind of device, with all its valid configurations: those that winners_of would accept.
struct MeasuredCase {
  std::string kernel, arch, device;  ///< device: its name
  Bindings problem;
  std::vector<std::pair<Bindings, double>> times_ms;  ///< configuration and median, best first; at least one
  std::int64_t newest_unix_ms = 0;
};
/// Sorted and with the errors of winners_of.
std::vector<MeasuredCase> measured_cases(const std::filesystem::path& store, const WinnerFilter& filter,
                                         std::vector<std::string>& warnings);

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
/// "artifact_key", "key", "unix_time_ms"}, ...]
nlohmann::ordered_json export_json(const std::vector<Winner>& winners);

/// Kernel Tuner's results file, T4 schema 1.0.0, of one kernel's records for one problem on one device. Throws
/// Error(invalid_argument) with the choices if several remain.
nlohmann::ordered_json export_kernel_tuner(const std::filesystem::path& store, const WinnerFilter& filter,
                                           std::vector<std::string>& warnings);

/// For decision trees over problem sizes, which python/xtune/compat/headers.py grows: [{"kernel", "arch", "configs",
/// "cases": [{"problem", "device", "best", "best_ms", "times_ms"}, ...]}, ...]. smallest_cover picked the
/// configurations, at most max_configs; times_ms are theirs, null if not measured. within: how much slower than the
/// best of a case is good enough. Cases whose parameters or dimensions differ from the newest case's are skipped with a
/// warning.
nlohmann::ordered_json tree_groups(const std::vector<MeasuredCase>& cases, std::size_t max_configs, double within,
                                   std::vector<std::string>& warnings);

/// The measurements as a CSV table, a line for each record. The times of one problem on one kind of device are put on
/// one scale, that of its best by the median; the column `scale` has the factors.
std::string export_csv(std::vector<StoredMeasurements> measurements);
/// The same as kbench's output.csv, a line for each measurement of a search that passed: name, met (ms), iters, the
/// metrics, spec.
std::string export_kbench(const std::vector<StoredMeasurements>& measurements);

}  // namespace xtune::store
