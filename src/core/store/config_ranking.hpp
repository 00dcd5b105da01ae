// The order of stored configurations: ranked(), for what a StoreView keeps of records.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/measure/statistics.hpp"
#include "core/record/ranking.hpp"
#include "core/store/stored_config.hpp"

namespace xtune::store {

using ConfigOrder = std::vector<const StoredConfig*>;

/// What rankings (core/record/ranking.hpp) look at in a row.
struct ConfigAccess {
  using Item = const StoredConfig*;
  static record::RankFacts facts(Item config);
  static std::string config_text(Item config);
};

/// Of each key the one that counts, as current_records has it; in no order.
ConfigOrder current_configs(std::span<const StoredConfig* const> configs);
/// Those that may answer, best first, as ranked() has them. statistic: that of the rows' times.
ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, measure::Statistic statistic);
/// Whether that has any, which costs less than to rank them.
bool any_ranks(std::span<const StoredConfig* const> configs);

}  // namespace xtune::store
