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
#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// What a filter selects of a store: its winners, all valid configurations, or all records.

/// The best record of each kernel, architecture, problem and kind of device, by the filter's criterion, with the most
/// recently used driver; complete, like its line.
struct Winner {
  std::string arch, kernel;  ///< as in the records
  Record record;
  std::string line;
  /// The first valid configurations and their times on one scale, as many as were asked for: the winner's, then those
  /// that follow it, all judged alike. The statistic is that of the criterion.
  std::vector<std::pair<Bindings, double>> times_ms;
  std::string objective;            ///< Criterion::finals_by
  std::int64_t newest_unix_ms = 0;  ///< of these
};
struct WinnerFilter {
  std::vector<std::string> archs, kernels;     ///< empty: all
  std::map<std::string, std::string> problem;  ///< sizes that a problem must have, as text; empty: all problems
  /// Whether a record is of the spec as it is now; empty: no spec is asked for, and all are.
  std::function<bool(const Record&)> is_present = {};
  /// By what the results of this problem and device are ranked; empty: as their records say.
  std::function<Criterion(const Record&)> criterion = {};
  /// newest: of the problem and device. Ranks whole records, unless by the median, which rows have.
  Criterion criterion_for(const Record& newest) const;
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

/// One problem on one kind of device, while each_problem visits it.
struct StoredProblem {
  const std::filesystem::path& store;
  const StoreView& view;
  const StoreView::Group& group;
  const WinnerFilter& filter;

  const Bindings& sizes() const { return view.row_set().problems[group.problem].sizes; }
  const device::DeviceInfo& device() const { return view.row_set().devices[group.device]; }
  /// Those that the filter takes; each call reads them again.
  HeldRows rows() const;
};
/// A valid configuration with its whole record.
struct ValidConfig {
  const StoredConfig* row = nullptr;
  Record record;
  double time_ms = 0;     ///< on the scale of the best one's
  std::string objective;  ///< Criterion::finals_by
};
/// Of these rows the first `most` configurations that may answer, best first.
std::vector<ValidConfig> valid_configs(const StoredProblem& problem, const ConfigOrder& rows, std::size_t most);
/// Calls visit for each kernel, architecture, problem and kind of device that the filter selects, in this order; it
/// returns whether something of it is what is asked for. Holds the rows of none of them. Throws as winners_of does.
void each_problem(const std::filesystem::path& store, const WinnerFilter& filter, std::vector<std::string>& warnings,
                  const std::function<bool(const StoredProblem&)>& visit);

/// The record files of the kernels and architectures that a filter selects.
struct FilteredParts {
  std::map<std::pair<std::string, std::string>, std::vector<RecordSource>> parts;  ///< by kernel, architecture
  std::uint64_t unreadable = 0;
};
/// Directories that cannot be listed are warnings. Throws Error(invalid_argument) without a store, or if the store has
/// nothing of a requested architecture or kernel; Error(io) if none of it could be read.
FilteredParts filtered_parts(const std::filesystem::path& store, const WinnerFilter& filter,
                             std::vector<std::string>& warnings);
/// Every record that a filter selects, including failed, pruned and finals records, but none of sanitized kernels: by
/// kernel and architecture, each in the order of time. Holds only where they are, 48 bytes each.
class Measurements {
 public:
  /// Throws as winners_of does.
  Measurements(const std::filesystem::path& store, const WinnerFilter& filter, std::vector<std::string>& warnings);

  /// The names of their sizes and of their parameters, each in the order of its first appearance.
  const std::vector<std::string>& sizes() const noexcept { return sizes_; }
  const std::vector<std::string>& parameters() const noexcept { return parameters_; }
  /// Reads them one by one. factor: puts the times on the scale of the best of its problem and kind of device, by the
  /// median. Throws RecordsChanged.
  void each(const std::function<void(Record record, double factor)>& visit) const;

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::int64_t unix_time_ms = 0;
    double factor = 1;
    std::uint32_t part = 0, source = 0, bytes = 0;
    bool finals = false;
  };
  std::vector<RecordSource> sources_;
  std::vector<Place> places_;
  std::vector<std::string> sizes_, parameters_;
};

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

/// The measurements as a CSV table, a line for each record, with its times on one scale; the column `scale` has the
/// factors.
void write_csv(const Measurements& measurements, const system::Sink& write);

}  // namespace xtune::store
