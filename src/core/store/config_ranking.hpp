// The order of stored configurations: ranked(), for the entries of a StoreView.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/statistics.hpp"
#include "core/record/criterion.hpp"
#include "core/record/ranking.hpp"
#include "core/store/stored_config.hpp"

namespace xtune::store {

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

}  // namespace xtune::store
