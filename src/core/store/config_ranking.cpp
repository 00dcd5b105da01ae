// Ranks with the code that ranks whole records; makes records only for finals, which need their samples.
#include "core/store/config_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_fields.hpp"
#include "core/build/artifact_json.hpp"
#include "core/record/finals.hpp"
#include "core/record/record.hpp"
#include "core/record/record_json.hpp"

namespace xtune::store {
namespace {

using Json = nlohmann::json;

// The members that FinalsResult uses.
record::Record finals_record(const StoredConfig& config) {
  const FinalsEvidence& finals = *config.finals;
  record::Record record;
  record.outcome = config.outcome;
  record.config = config_bindings(config);
  measure::Summary& times = record.time_ms;  // it asks for one of these
  times.median = times.mean = times.inlier_mean = times.min = config.time_ms;
  if (config.tainted) record.tainted = {""};
  if (!finals.samples_ms.empty())
    for (const Json& sample : Json::parse(finals.samples_ms))
      record.samples_ms.push_back(base::number_from_json(sample));
  if (!finals.repeatable.empty()) record.repeatable = record::repeatability_from_json(Json::parse(finals.repeatable));
  if (!finals.usage.empty()) record.usage = build::resource_usage_from_json(Json::parse(finals.usage));
  return record;
}

/// The rules of record::rank_records.
struct ConfigRules {
  record::Criterion criterion;
  std::string finals_by = criterion.finals_by();

  double time(const StoredConfig* config) const { return config->time_ms; }
  double score(const StoredConfig*, double time_ms) const { return time_ms; }
  bool decided(const StoredConfig* config) const { return config->finals && config->finals->finals_by == finals_by; }
  std::vector<std::pair<const StoredConfig*, record::FinalsRatio>> settled(const ConfigOrder& met) const {
    std::vector<record::Record> records;
    std::vector<const record::Record*> pointers;
    for (const StoredConfig* config : met) records.push_back(finals_record(*config));
    for (const record::Record& record : records) pointers.push_back(&record);
    std::vector<std::pair<const StoredConfig*, record::FinalsRatio>> result;
    for (const auto& [record, ratio] : record::FinalsResult(pointers, criterion).ratios())
      result.emplace_back(met[static_cast<std::size_t>(record - records.data())], ratio);
    return result;
  }
};

}  // namespace

record::RankFacts ConfigAccess::facts(const StoredConfig* config) {
  return {config->key.bytes(),  config->finals ? config->finals->finals : std::string_view(),
          *config->attempt,     config->outcome,
          config->tainted,      config->drift,
          config->unix_time_ms, config->median_ms};
}

bool ConfigAccess::same_config(const StoredConfig* a, const StoredConfig* b) {
  if (a->names && b->names) return *a->names == *b->names && a->values == b->values;
  return xtune::store::config_text(*a) == xtune::store::config_text(*b);
}

std::string ConfigAccess::config_text(const StoredConfig* config) { return xtune::store::config_text(*config); }

ConfigOrder current_configs(std::span<const StoredConfig* const> configs) {
  return record::current_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()));
}

ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, measure::Statistic statistic) {
  const ConfigRules rules{{statistic}};
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

bool any_ranks(std::span<const StoredConfig* const> configs) {
  const auto ranks = [&](const StoredConfig* config) {
    return config->outcome == Outcome::ok && !config->drift && std::isfinite(config->time_ms);
  };
  const auto ranking = std::count_if(configs.begin(), configs.end(), ranks);
  if (ranking == 0 || ranking == std::ssize(configs)) return ranking > 0;
  // A row that does not rank may replace one that does.
  const ConfigOrder current = current_configs(configs);
  return std::any_of(current.begin(), current.end(), ranks);
}

}  // namespace xtune::store
