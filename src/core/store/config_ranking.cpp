// Ranks with the code that ranks whole records; reads records only for finals, which need their samples.
#include "core/store/config_ranking.hpp"

#include <algorithm>
#include <cmath>

#include "core/record/best.hpp"
#include "core/record/finals.hpp"
#include "core/record/record.hpp"

namespace xtune::store {
namespace {

/// The rules of record::rank_records.
struct ConfigRules {
  record::Criterion criterion;
  std::string finals_by = criterion.finals_by();

  double time(const StoredConfig* config) const { return config->time_ms; }
  double score(const StoredConfig*, double time_ms) const { return time_ms; }
  bool decided(const StoredConfig* config) const {
    return config->is_of_finals() && config->block->finals_by == finals_by;
  }
  std::vector<std::pair<const StoredConfig*, record::FinalsRatio>> settled(const ConfigOrder& met) const {
    std::vector<record::Record> records;
    std::vector<const record::Record*> pointers;
    for (const StoredConfig* config : met) records.push_back(read_record(*config));
    for (const record::Record& record : records) pointers.push_back(&record);
    std::vector<std::pair<const StoredConfig*, record::FinalsRatio>> result;
    for (const auto& [record, ratio] : record::FinalsResult(pointers, criterion).ratios())
      result.emplace_back(met[static_cast<std::size_t>(record - records.data())], ratio);
    return result;
  }
};

}  // namespace

record::RankFacts ConfigAccess::facts(const StoredConfig* config) {
  return {config->key.bytes(), config->block->finals, config->block->attempt, config->outcome,
          config->tainted,     config->drift,         config->unix_time_ms,   config->median_ms};
}

bool ConfigAccess::same_config(const StoredConfig* a, const StoredConfig* b) {
  return a->names() == b->names() && a->values() == b->values();
}

std::string ConfigAccess::config_text(const StoredConfig* config) { return xtune::store::config_text(*config); }

ConfigOrder current_configs(std::span<const StoredConfig* const> configs) {
  return record::current_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()));
}

ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, const record::Criterion& criterion) {
  if (criterion.score) {
    std::vector<record::Record> records;
    for (const StoredConfig* config : configs) records.push_back(read_record(*config));
    ConfigOrder order;
    for (const record::Record* record : record::ranked(records, criterion))
      order.push_back(configs[static_cast<std::size_t>(record - records.data())]);
    return order;
  }
  const ConfigRules rules{criterion};
  return record::rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules).order;
}

std::vector<std::pair<const StoredConfig*, double>> configs_on_one_scale(std::span<const StoredConfig* const> configs,
                                                                         measure::Statistic statistic) {
  const ConfigRules rules{{statistic}};
  const auto ranking = record::rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules);
  std::vector<std::pair<const StoredConfig*, double>> result;
  for (const StoredConfig* config : ranking.order) result.emplace_back(config, ranking.scale->time(config));
  return result;
}

}  // namespace xtune::store
