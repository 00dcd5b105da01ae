// Ranks through the code that ranks whole records; of finals alone it makes records, as their samples decide.
#include "core/store/config_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/build/artifact_json.hpp"
#include "core/record/finals.hpp"
#include "core/record/record_json.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

using Json = nlohmann::json;

// What FinalsResult looks at.
Record finals_record(const StoredConfig& config) {
  Record record;
  record.outcome = config.outcome;
  record.config = bindings_from_json(Json::parse(config.config_json));
  record.time_ms.median = config.median_ms;
  record.time_ms.mean = config.mean_ms;
  record.time_ms.min = config.min_ms;
  if (config.tainted) record.tainted = {""};
  if (!config.samples_ms.empty())
    for (const Json& sample : Json::parse(config.samples_ms)) record.samples_ms.push_back(number_from_json(sample));
  if (!config.usage.empty()) record.usage = resource_usage_from_json(Json::parse(config.usage));
  return record;
}

struct ConfigAccess {
  using Item = const StoredConfig*;
  static RankFacts facts(Item config) {
    return {config->key,     config->finals, config->attempt,      config->outcome,
            config->tainted, false,          config->unix_time_ms, config->median_ms};
  }
  static std::string_view config_text(Item config) { return config->config; }
};

ConfigOrder settled(const ConfigOrder& met, const Criterion& criterion) {
  std::vector<Record> records;
  std::vector<const Record*> pointers;
  for (const StoredConfig* config : met) records.push_back(finals_record(*config));
  for (const Record& record : records) pointers.push_back(&record);
  ConfigOrder order;
  const FinalsResult result(pointers, criterion);
  for (const Record* record : result.order()) order.push_back(met[static_cast<std::size_t>(record - records.data())]);
  return order;
}

double score_of(const StoredConfig& config, double StoredConfig::*time) {
  return config.count == 0 ? HUGE_VAL : config.*time;
}

}  // namespace

double StoredConfig::*time_named(const std::string& statistic) {
  if (statistic == "min") return &StoredConfig::min_ms;
  if (statistic == "mean") return &StoredConfig::mean_ms;
  if (statistic == "median") return &StoredConfig::median_ms;
  throw Error(ErrorKind::invalid_argument,
              "the statistic '" + printable(statistic, 40) + "': it is median, min or mean");
}

ConfigOrder current_configs(std::span<const StoredConfig* const> configs) {
  return current_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()));
}

ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, const std::string& statistic) {
  double StoredConfig::*const time = time_named(statistic);
  const Criterion criterion(statistic);
  const std::string finals_by = criterion.finals_by();
  const auto score = [&](const StoredConfig* config) { return score_of(*config, time); };
  const auto decided = [&](const StoredConfig* config) {
    return !config->finals.empty() && config->finals_by == finals_by;
  };
  return rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), score, decided,
                                    [&](const auto& met) { return settled(met, criterion); });
}

bool any_ranks(std::span<const StoredConfig* const> configs, const std::string& statistic) {
  double StoredConfig::*const time = time_named(statistic);
  const auto ranks = [&](const StoredConfig* config) {
    return config->outcome == Outcome::ok && std::isfinite(score_of(*config, time));
  };
  const auto ranking = std::count_if(configs.begin(), configs.end(), ranks);
  if (ranking == 0 || ranking == std::ssize(configs)) return ranking > 0;
  // One that does not rank may stand in for one that does.
  const ConfigOrder current = current_configs(configs);
  return std::any_of(current.begin(), current.end(), ranks);
}

}  // namespace xtune
