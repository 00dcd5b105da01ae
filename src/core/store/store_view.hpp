// A store's records of one kernel on one architecture, for choosing among them: fast to load, faster to query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/measure/statistics.hpp"
#include "core/store/best.hpp"
#include "core/store/index.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// The order of stored configurations: ranked(), for the entries of a StoreView.

/// Access to a row for rankings (core/store/best.hpp).
struct ConfigAccess {
  using Item = const StoredConfig*;
  static RankFacts facts(Item config);
  static bool same_config(Item a, Item b);
  static std::string config_text(Item config);
};

/// For each key the record that counts, as in current_records; in no particular order.
ConfigOrder current_configs(std::span<const StoredConfig* const> configs);
/// Those that can be used, best first, as in ranked(). Its statistic is that of the rows' times. If it ranks by more
/// than the time, all records are read; those of finals always are. Throws RecordsChanged.
ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, const Criterion& criterion);
/// The first of rank_configs, null if there is none, and the number of all: without sorting them, unless finals decide.
std::pair<const StoredConfig*, std::size_t> best_config(std::span<const StoredConfig* const> configs,
                                                        const Criterion& criterion);
/// For each of them what its times are multiplied by to be on the scale of the best one's, by the median
/// (Standings::factor).
std::unordered_map<const StoredConfig*, double> scale_factors(std::span<const StoredConfig* const> configs,
                                                              const Criterion& criterion = {});
/// At most `most` of them, for an overview: those with the key, the newest ones of finals, the best, and others evenly
/// spread in time.
ConfigOrder overview_of(ConfigOrder configs, std::size_t most, const KeyDigest& key);

/// Rows with what they refer to: they may be read once more for each use.
struct HeldRows {
  ConfigOrder rows;
  std::vector<std::shared_ptr<const BlockRows>> held;
  void add(const RowSet& set, const RowBlock& block, bool keep);
};

// A store's records of one kernel on one architecture, for choosing among them.

/// Immutable once made; any number of threads may use it at once. References that it returns have its lifetime.
class StoreView {
 public:
  using Options = RowOptions;

  /// A missing store or kernel is an empty view; damage and newer versions are warnings, as from read_records.
  static StoreView load(const std::filesystem::path& store, const std::string& arch, const std::string& kernel,
                        const Options& options = {});
  /// The same for record lines at any place.
  static StoreView load(std::vector<RecordSource> sources, const Options& options = {});
  StoreView(StoreView&&) noexcept;
  StoreView& operator=(StoreView&&) noexcept;
  ~StoreView();

  /// The configurations of one problem on one kind of device, without sanitized ones: at least one that can be used, or
  /// with Options::all any.
  struct Group {
    std::uint32_t problem = 0, device = 0;  ///< in the RowSet
    std::size_t begin = 0, end = 0;         ///< of its blocks
    std::size_t records = 0;                ///< of these
  };
  const std::vector<Group>& groups() const noexcept;  ///< sorted by the problem's text, then the device's name
  /// Best first, as in ranked(); empty only with Options::all. A group is ranked at its first use, here or by look_up.
  const ConfigOrder& order(const Group& group) const;

  /// The answer of look_up for all these records, with its reasons. criterion: by the statistic of the options if
  /// unset; else its statistic is theirs, and it needs Options::all. obstacle receives a record with only its
  /// configuration set. Throws RecordsChanged.
  LookupResult look_up(const Bindings& problem, const device::DeviceInfo& device, const LookupRules& rules,
                       const std::optional<Criterion>& criterion = {}) const;
  /// The rows of exactly this problem on this kind of device, without those that have an obstacle (as in LookupRules),
  /// in the order of files and lines.
  ConfigOrder members(const Bindings& problem, const device::DeviceInfo& device,
                      const std::function<std::string(const Record&)>& obstacle) const;
  /// All records; they need not have been read.
  const RowSet& row_set() const noexcept;
  /// The same without an obstacle. keep: as in RowSet::rows_of.
  HeldRows read_members(const Bindings& problem, const device::DeviceInfo& device, bool keep = true) const;
  /// Rows that were read since the view was loaded are read again at their next use: none of them may be in use, and no
  /// group ranked.
  void forget_rows();
  /// Reads what is new (read_more) as well. False: the view must be loaded again.
  bool grow(const std::vector<RecordSource>& further);
  /// Calls visit(const StoredConfig&) for each row, in the order of files and lines.
  template <class Visit>
  void each_row(const Visit& visit) const {
    row_set().each_row(visit);
  }
  /// The rows of a group, in the same order. The view does not keep them.
  HeldRows read_members(const Group& group) const;

  /// All measurements that count for a configuration (its bindings_text), of any problem and device, if one of them may
  /// have failed when it ran (failed_when_run, which checks the stage); else empty. The first call goes over all rows.
  const ConfigOrder& suspect(std::string_view config) const;

  std::uint64_t records() const noexcept;        ///< number of records read, also those never used
  std::int64_t newest_unix_ms() const noexcept;  ///< of these records
  const std::vector<std::string>& warnings() const noexcept;

 private:
  struct State;
  explicit StoreView(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The records of exactly this problem on this kind of device, without those that have an obstacle, whose keys fit at
/// least as well as required. Throws RecordsChanged.
std::vector<Record> answering(const StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                              const LookupRules& rules, KeyFit worst);
/// The same as rows of the view.
ConfigOrder answering_rows(const StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                           const LookupRules& rules, KeyFit worst);

// A store's records of one kernel on one architecture, for a process that reads repeatedly while files grow.

/// Reads nothing again while no file changes; what is appended is read through the index. One thread at a time.
class GrowingRecords {
 public:
  /// statistic: that of StoredConfig::time_ms.
  GrowingRecords(std::filesystem::path store, std::string arch, std::string kernel,
                 measure::Statistic statistic = measure::Statistic::median);

  /// Reads the changes since the last call. Invalidates rows that were returned before.
  void refresh();

  /// The rows of exactly this problem on this kind of device, including sanitized ones, in no particular order.
  ConfigOrder rows_of(const Bindings& problem, const device::DeviceInfo& device) const;
  /// Calls visit(Row) for every row.
  template <class Visit>
  void each_row(const Visit& visit) const {
    if (view_) view_->each_row([&](const StoredConfig& config) { visit(&config); });
  }
  /// The warnings of the last refresh.
  std::vector<std::string> warnings() const;

 private:
  const std::filesystem::path store_;
  const std::string arch_, kernel_;
  const measure::Statistic statistic_;
  std::vector<RecordSource> files_;  ///< sorted by path
  std::optional<StoreView> view_;    ///< of these files
  std::vector<std::string> listing_warnings_;
};

}  // namespace xtune::store
