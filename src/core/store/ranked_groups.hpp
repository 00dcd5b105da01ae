// Stored configurations by problem and kind of device; each group is read and ranked at first use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/statistics.hpp"
#include "core/record/best.hpp"
#include "core/record/ranking.hpp"
#include "core/store/index.hpp"

namespace xtune::store {

// The order of stored configurations: ranked(), for the entries of a StoreView.

using ConfigOrder = std::vector<const StoredConfig*>;

/// Access to a row for rankings (core/record/ranking.hpp).
struct ConfigAccess {
  using Item = const StoredConfig*;
  static record::RankFacts facts(Item config);
  static bool same_config(Item a, Item b);
  static std::string config_text(Item config);
};

/// For each key the record that counts, as in current_records; in no particular order.
ConfigOrder current_configs(std::span<const StoredConfig* const> configs);
/// Those that can be used, best first, as in ranked(). Its statistic is that of the rows' times. If it ranks by more
/// than the time, all records are read; those of finals always are. Throws RecordsChanged.
ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, const record::Criterion& criterion);
/// The same with their times on one scale, that of the best one (record::Scale). In ms.
std::vector<std::pair<const StoredConfig*, double>> configs_on_one_scale(std::span<const StoredConfig* const> configs,
                                                                         measure::Statistic statistic);

// Stored configurations by problem and kind of device; each group is read and ranked at first use.

/// The configurations of one problem on one kind of device, without sanitized ones.
struct ConfigGroup {
  std::uint32_t problem = 0, device = 0;  ///< in the RowSet
  std::size_t begin = 0, end = 0;         ///< of its blocks
};

/// Rows with what they refer to: they may be read once more for each use.
struct HeldRows {
  ConfigOrder rows;
  std::vector<std::shared_ptr<const BlockRows>> held;
  void add(const RowSet& set, const RowBlock& block, bool keep);
};

/// Any number of threads may use it at once.
class ConfigGroups {
 public:
  /// rows must outlive it. all: include groups without a ranked record. threads as in for_each_index.
  ConfigGroups(const RowSet& rows, measure::Statistic statistic, bool all, unsigned threads);
  ~ConfigGroups();
  ConfigGroups(const ConfigGroups&) = delete;
  ConfigGroups& operator=(const ConfigGroups&) = delete;

  /// Sorted by the problem's text, then the device's name.
  const std::vector<ConfigGroup>& all() const noexcept { return groups_; }

  /// Best first; empty only with `all`. The first call for a group ranks it, later calls cost an atomic load.
  const ConfigOrder& order(std::size_t group) const;
  void rank_all(unsigned threads) const;
  /// All members, whether they rank or not, in the order of the rows. keep: as in RowSet::rows_of.
  HeldRows members_of(std::size_t group, bool keep = true) const;

 private:
  template <class Work>
  void for_each(unsigned threads, const Work& work) const;
  void cut(unsigned threads);

  const RowSet& rows_;
  const measure::Statistic statistic_;
  const bool all_;
  std::vector<const RowBlock*> blocks_;  ///< group by group, each in the order of the rows
  std::vector<ConfigGroup> groups_;
  /// Null until first use. If two threads rank one group at once, the second order is discarded.
  mutable std::vector<std::atomic<const ConfigOrder*>> orders_;
};

}  // namespace xtune::store
