// Facts and records for a program that knows neither the spec's language nor the store.
#include "core/run/advisor_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/measure/statistics.hpp"
#include "core/record/record_json.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_records = 1000, shown_values = 12, shown_message = 500;

Json json_of(const RunContext& run, const record::Record& record) {
  Json json{{"config", record::to_json(record.config)}, {"outcome", to_string(record.outcome)}};
  if (record.outcome == Outcome::ok)
    json["time_ms"] = measure::statistic(record.time_ms, run.spec.measure.statistic);
  else if (record.outcome == Outcome::pruned)
    json["at_least_ms"] = record.time_ms.min;
  if (run.criterion.score && record.outcome == Outcome::ok)
    if (const double score = run.criterion.of(record); std::isfinite(score)) json["score"] = score;
  if (!record.message.empty()) json["message"] = base::printable_lines(record.message, shown_message);
  for (const auto& [metric, values] : record.reported)
    if (!values.empty()) json["metrics"][metric] = measure::summarize(values).median;
  if (!record.proposed_by.empty()) json["proposed_by"] = record.proposed_by;
  return json;
}

/// The proposal's value as one of the parameter's; nullptr: it has no such value.
const Value* value_in(const space::Parameter& parameter, const nlohmann::json& given) {
  for (const Value& value : parameter.values) {
    const auto* const text = std::get_if<std::string>(&value);
    const auto* const boolean = std::get_if<bool>(&value);
    if (text && given.is_string() && given.get_ref<const std::string&>() == *text) return &value;
    if (boolean && given.is_boolean() && given.get<bool>() == *boolean) return &value;
    if (text || boolean || !given.is_number()) continue;
    const auto* const integer = std::get_if<std::int64_t>(&value);
    if (integer && given.is_number_integer() ? given == *integer : given.get<double>() == value_as<double>(value))
      return &value;
  }
  return nullptr;
}

std::string values_text(const space::Parameter& parameter) {
  std::string text;
  for (std::size_t i = 0; i < parameter.values.size() && i < shown_values; ++i)
    text += (i ? ", " : "") + to_text(parameter.values[i]);
  return parameter.values.size() > shown_values ? text + fmt::format(", ... ({} values)", parameter.values.size())
                                                : text;
}

/// Why the space does not have this combination of its parameters' values.
std::string objection_to(const RunContext& run, const Bindings& config) {
  const Bindings facts = device::device_facts(run.target.device);
  const auto lookup = [&](std::string_view name) -> const Value* {
    for (const Bindings* names : {&config, &run.problem, &facts})
      if (const Value* value = space::find_value(*names, name)) return value;
    return nullptr;
  };
  for (const spec::Text& text : run.spec.constraints) try {
      if (!space::truth(spec::CompiledText::expression(text).parts().front().expression.front().evaluate(lookup)))
        return fmt::format("the constraint \"{}\" is not satisfied", text.text);
    } catch (const space::ExpressionError& error) {
      return fmt::format("the constraint \"{}\": {}", text.text, error.what());
    }
  return "the space does not have this combination of values";
}

}  // namespace

Json advisor_facts(const RunContext& run) {
  Json json{{"protocol", advisor_protocol}, {"kernel", run.spec.kernel.name}};
  json["spec"]["file"] = base::utf8_text(run.spec.path.string());
  if (run.spec.text) json["spec"]["text"] = base::utf8_text(*run.spec.text);
  json["problem"] = record::to_json(run.problem);
  json["device"] = record::to_json(run.target.device);
  json["objective"] = run.criterion.score ? run.criterion.objective : "minimize time_ms";
  json["parameters"] = Json::object();
  for (const space::Parameter& parameter : run.space.parameters())
    for (const Value& value : parameter.values)
      json["parameters"][parameter.name].push_back(Json(record::to_json(value)));
  json["constraints"] = Json::array();
  for (const spec::Text& text : run.spec.constraints) json["constraints"].push_back(text.text);
  json["space_size"] = run.space.size();
  return json;
}

Json advisor_records(const RunContext& run, std::span<const record::Record> records) {
  std::vector<const record::Record*> chosen;
  for (const record::Record& record : records) chosen.push_back(&record);
  if (chosen.size() > most_records) {
    const auto latest = std::vector(chosen.end() - most_records / 2, chosen.end());
    chosen.resize(chosen.size() - most_records / 2);
    const auto rank = [&](const record::Record* record) {
      const double score = record->outcome == Outcome::ok ? run.criterion.of(*record) : HUGE_VAL;
      return std::isnan(score) ? HUGE_VAL : score;
    };
    std::stable_sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    chosen.resize(most_records / 2);
    chosen.insert(chosen.end(), latest.begin(), latest.end());
  }
  Json list = Json::array();
  for (const record::Record* record : chosen) list.push_back(json_of(run, *record));
  return list;
}

std::variant<std::uint64_t, std::string> read_proposal(const RunContext& run, const nlohmann::json& proposal) {
  if (!proposal.is_object()) return "it is not an object of parameters and their values";
  std::vector<std::string> names;
  for (const space::Parameter& parameter : run.space.parameters()) names.push_back(parameter.name);
  for (const auto& [name, value] : proposal.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fmt::format("unknown parameter '{}'{}", base::printable(name, 80), base::did_you_mean(name, names));
  Bindings config;
  for (const space::Parameter& parameter : run.space.parameters()) {
    const auto given = proposal.find(parameter.name);
    if (given == proposal.end()) return fmt::format("the parameter '{}' is missing", parameter.name);
    const Value* const value = value_in(parameter, *given);
    if (!value)
      return fmt::format("{} = {} is not one of its values: {}", parameter.name,
                         given->is_primitive() ? base::printable(given->dump(), 80) : given->type_name(),
                         values_text(parameter));
    config.emplace(parameter.name, *value);
  }
  if (const auto index = run.space.index_of(config)) return *index;
  return objection_to(run, config);
}

}  // namespace xtune::run
