// The closing words of a run.
#include "report/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/record/finals.hpp"
#include "core/record/metrics.hpp"
#include "core/record/objective.hpp"
#include "core/record/record_json.hpp"
#include "report/failures.hpp"
#include "report/table.hpp"
#include "report/trace.hpp"

namespace xtune::report {
namespace {

std::string number_text(double number) { return std::isfinite(number) ? fmt::format("{:.4g}", number) : "-"; }

// The interval is the median's, whatever statistic ranks.
std::string interval_name(const spec::Spec& spec) {
  return spec.measure.statistic == measure::Statistic::median ? "95 % interval" : "median's 95 % interval";
}

std::string results_table(const spec::Spec& spec, const std::vector<const record::Record*>& order, std::size_t rows) {
  std::vector<std::string> header{"#"};
  for (const space::Parameter& parameter : spec.parameters) header.push_back(parameter.name);
  header.insert(header.end(), {"time", interval_name(spec), "noise"});
  for (const std::string& name : record::metric_names(spec)) header.push_back(name);
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < order.size() && i < rows; ++i) {
    const record::Record& record = *order[i];
    std::vector<std::string> row{std::to_string(i + 1)};
    for (const space::Parameter& parameter : spec.parameters) {
      const auto found = record.config.find(parameter.name);
      row.push_back(found == record.config.end() ? "-" : to_text(found->second));
    }
    row.push_back(base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)));
    row.push_back(base::human_time_ms(record.time_ms.low) + " .. " + base::human_time_ms(record.time_ms.high));
    row.push_back(fmt::format("{:.1f} %", record.time_ms.noise * 100));
    for (const auto& [name, value] : record::metrics_of(spec, record)) row.push_back(number_text(value));
    cells.push_back(std::move(row));
  }
  return render_table(header, cells);
}

std::string counts_text(const run::TuneResult& result) {
  std::string text;
  for (const auto& [outcome, count] : result.counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(outcome));
  return text.empty() ? "none" : text;
}

std::string pareto_text(const spec::Spec& spec, const record::Objective& objective,
                        const std::vector<const record::Record*>& order) {
  std::vector<std::string> header{"Pareto set"};
  for (const std::string& name : objective.names()) header.push_back(name);
  std::vector<std::vector<std::string>> cells;
  for (const record::Record* record : objective.pareto(order)) {
    cells.push_back({config_text(spec, record->config)});
    for (const double value : objective.values(*record)) cells.back().push_back(number_text(value));
  }
  return render_table(header, cells);
}

/// The finals that decided on this record; nullopt: none did.
std::optional<record::FinalsResult> finals_behind(const run::TuneResult& result, const record::Record& best,
                                                  const record::Criterion& criterion) {
  if (!criterion.decided_by(best)) return std::nullopt;
  std::vector<const record::Record*> met;
  for (const record::Record& record : result.further)
    if (record.finals == best.finals) met.push_back(&record);
  return record::FinalsResult(met, criterion);
}

std::string finals_text(const record::FinalsResult& finals) {
  const auto failures = std::count_if(finals.order().begin(), finals.order().end(),
                                      [](const record::Record* record) { return record->outcome != Outcome::ok; });
  return fmt::format("      finals: {} configurations in {} rounds{}{}\n", finals.order().size(), finals.rounds(),
                     finals.decided() ? "" : ", undecided within the budget",
                     failures ? fmt::format(", {} failed there", failures) : "");
}

std::string nothing_passed_text(const run::TuneResult& result) {
  const char* passed = "a configuration compiled, ran and gave the right result";
  if (result.out_of_time)
    return fmt::format("nothing passed yet: the time was up before {}; give it more seconds\n", passed);
  if (result.interrupted) return fmt::format("nothing passed yet: interrupted before {}\n", passed);
  if (const auto ok = result.counts.find(Outcome::ok); ok != result.counts.end() && ok->second > 0)
    return "nothing passed: no configuration has a value of the objective: does the device report all that it names?\n";
  return "nothing passed: no configuration compiled, ran and gave the right result\n";
}

}  // namespace

std::string config_text(const spec::Spec& spec, const Bindings& config) {
  std::string text;
  for (const space::Parameter& parameter : spec.parameters)
    if (const auto found = config.find(parameter.name); found != config.end())
      text += (text.empty() ? "" : " ") + parameter.name + "=" + space::shown_text(found->second);
  return text;
}

std::string metrics_text(const spec::Spec& spec, const record::Record& record) {
  std::string text;
  for (const auto& [name, value] : record::metrics_of(spec, record))
    text += (text.empty() ? "" : ", ") + name + " " + number_text(value);
  return text;
}

std::string objective_text(const spec::Spec& spec, const record::Record& record) {
  const record::Objective objective(spec);
  const std::vector<double> values = objective.values(record);
  std::string text = "objective:";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{} {} {} {}", i ? "," : "", spec.objective.goals[i].maximize ? "most" : "least",
                        objective.names()[i], number_text(values[i]));
  return text;
}

std::string run_text(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows) {
  const record::Objective objective(spec);
  const record::Criterion criterion = objective.criterion(result.problem, result.device);
  const auto order = record::ranked(result.all(), criterion);
  std::string text;
  if (!order.empty()) text += "\n" + results_table(spec, order, rows);
  const auto unread = result.unread.find(Outcome::ok);
  const std::size_t passed = order.size() + (unread == result.unread.end() ? 0 : unread->second);
  if (passed > rows) text += fmt::format("... {} more\n", passed - rows);
  text += fmt::format("\n{} of {} valid configurations in {}: {}", result.evaluated(), result.space_size,
                      base::human_seconds(result.total_s), counts_text(result));
  const std::uint64_t stored = result.from_store - result.from_peers;
  if (stored && result.from_peers)
    text += fmt::format(" ({} from the store, {} by other processes)", stored, result.from_peers);
  else if (stored || result.from_peers)
    text += fmt::format(" ({} {})", result.from_store, stored ? "from the store" : "by other processes");
  text += fmt::format("\ncompiling took {} of CPU time, measuring {} of the device's\n",
                      base::human_seconds(result.compile_cpu_s), base::human_seconds(result.device_busy_s));
  const auto best = record::best_of(result.all(), criterion);
  if (!best) text += nothing_passed_text(result);
  text += failures_text(spec, result);
  if (!best) return text;
  const record::Record& record = *best->record;
  text +=
      fmt::format("\nbest: {}\n      {} ({} {} .. {})", config_text(spec, record.config),
                  base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)), interval_name(spec),
                  base::human_time_ms(record.time_ms.low), base::human_time_ms(record.time_ms.high));
  if (const std::string metrics = metrics_text(spec, record); !metrics.empty()) text += ", " + metrics;
  text += "\n";
  if (!spec.objective.goals.empty()) text += "      " + objective_text(spec, record) + "\n";
  if (spec.objective.goals.size() == 2) text += pareto_text(spec, objective, order);
  if (const auto finals = finals_behind(result, record, criterion)) text += finals_text(*finals);
  if (!best->ties.empty())
    text += fmt::format("      {} other{} cannot be told from it within the noise{}\n", best->ties.size(),
                        best->ties.size() == 1 ? "" : "s", criterion.decided_by(record) ? " or 1 %" : "");
  if (!record.tainted.empty()) text += fmt::format("      tainted: {}\n", fmt::join(record.tainted, "; "));
  if (!spec::validates(spec))
    text += spec.process ? "      not validated but by its exit code: the spec has neither check nor expect\n"
                         : "      not validated: the spec names no reference\n";
  return text;
}

std::string across_text(const spec::Spec& spec, const std::optional<record::AcrossChoice>& choice) {
  if (!choice) return "\nfor all cases: none, as no configuration passed in each of them\n";
  const bool worst = spec.objective.across == spec::ObjectiveSpec::Across::worst;
  std::string text =
      fmt::format("\nfor all cases: {}\n      {} {:.3f} times each case's best\n", config_text(spec, choice->config),
                  worst ? "at worst" : "in geometric mean", choice->score);
  for (std::size_t i = 0; i < choice->records.size(); ++i)
    text += fmt::format("      {}: {}, {:.3f} times the best\n", space::shown_text(choice->records[i]->problem),
                        base::human_time_ms(measure::statistic(choice->records[i]->time_ms, spec.measure.statistic)),
                        choice->ratios[i]);
  return text;
}

nlohmann::ordered_json across_json(const spec::Spec& spec, const std::optional<record::AcrossChoice>& choice,
                                   std::size_t index) {
  nlohmann::ordered_json json;
  json["rule"] = spec.objective.across == spec::ObjectiveSpec::Across::worst ? "worst" : "geomean";
  json["config"] = nullptr;
  if (!choice) return json;
  json["config"] = bindings_json(choice->config);
  json["score"] = choice->score;
  json["ratio"] = choice->ratios.at(index);
  json["time_ms"] = measure::statistic(choice->records.at(index)->time_ms, spec.measure.statistic);
  return json;
}

nlohmann::ordered_json bindings_json(const Bindings& bindings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : bindings) json[name] = record::to_json(value);
  return json;
}

nlohmann::ordered_json measured_json(const spec::Spec& spec, const record::Record& record) {
  nlohmann::ordered_json json;
  json["config"] = bindings_json(record.config);
  json["time_ms"] = measure::statistic(record.time_ms, spec.measure.statistic);
  json["metrics"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : record::metrics_of(spec, record))
    json["metrics"][name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  if (!spec.objective.goals.empty()) {
    const record::Objective objective(spec);
    const std::vector<double> values = objective.values(record);
    for (std::size_t i = 0; i < values.size(); ++i)
      json["objective"][objective.names()[i]] =
          std::isfinite(values[i]) ? nlohmann::ordered_json(values[i]) : nlohmann::ordered_json();
  }
  json["interval_ms"] = {record.time_ms.low, record.time_ms.high};
  if (!record.tainted.empty()) json["tainted"] = record.tainted;
  return json;
}

nlohmann::ordered_json run_json(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows) {
  nlohmann::ordered_json json;
  json["kernel"] = spec.kernel.name;
  json["device"] = {{"backend", result.device.backend},
                    {"name", result.device.name},
                    {"arch", result.device.arch},
                    {"index", result.device.index},
                    {"uuid", result.device.uuid}};
  json["problem"] = bindings_json(result.problem);
  json["best"] = json["finals"] = nullptr;
  const record::Objective objective(spec);
  const record::Criterion criterion = objective.criterion(result.problem, result.device);
  if (const auto best = record::best_of(result.all(), criterion)) {
    json["best"] = measured_json(spec, *best->record);
    json["best"]["ties"] = nlohmann::ordered_json::array();
    for (const record::Record* tie : best->ties) json["best"]["ties"].push_back(bindings_json(tie->config));
    if (const auto finals = finals_behind(result, *best->record, criterion))
      json["finals"] = {
          {"finalists", finals->order().size()}, {"rounds", finals->rounds()}, {"decided", finals->decided()}};
  }
  json["top"] = nlohmann::ordered_json::array();
  const auto order = record::ranked(result.all(), criterion);
  if (spec.objective.goals.size() == 2) {
    json["pareto"] = nlohmann::ordered_json::array();
    for (const record::Record* record : objective.pareto(order)) json["pareto"].push_back(measured_json(spec, *record));
  }
  for (std::size_t i = 0; i < std::min(rows, order.size()); ++i) json["top"].push_back(measured_json(spec, *order[i]));
  json["counts"] = nlohmann::ordered_json::object();
  for (const auto& [outcome, count] : result.counts) json["counts"][to_string(outcome)] = count;
  json["failures"] = failures_json(result);
  json["trace"] = trace_json(spec, result);
  json["seconds"] = {{"total", result.total_s},
                     {"compile_cpu", result.compile_cpu_s},
                     {"compile_wall", result.compile_wall_s},
                     {"device_busy", result.device_busy_s}};
  json["from_store"] = result.from_store;
  if (result.from_peers) json["from_peers"] = result.from_peers;
  json["space"] = result.space_size;
  json["interrupted"] = result.interrupted;
  json["out_of_time"] = result.out_of_time;
  return json;
}

}  // namespace xtune::report
