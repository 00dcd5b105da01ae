// The output at the end of a run; groups and examples of failures.
#include "report/text/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/text.hpp"
#include "core/record/best.hpp"
#include "core/record/objective.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "report/text/results_table.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

namespace {

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

std::string speed_text(double factor) {
  return fmt::format("{:.0f} % {}", std::abs(factor - 1) * 100, factor > 1 ? "slower" : "faster");
}

/// How the times of the table were made.
std::string finals_text(const spec::Spec& spec, const run::TuneResult& result, const record::FinalsResult& finals,
                        bool any_ties) {
  const auto failures = std::count_if(finals.order().begin(), finals.order().end(),
                                      [](const record::Record* record) { return record->outcome != Outcome::ok; });
  std::string text =
      fmt::format("finals: {} configurations in {} rounds{}; all times are on their scale\n", finals.order().size(),
                  finals.rounds(), failures ? fmt::format(", {} failed", failures) : "");
  if (std::abs(result.slowdown - 1) > measure::finals_least_drift)
    text += fmt::format("        the device was {} than in the search\n", speed_text(result.slowdown));
  if (const double drift = finals.drift(); drift != 1)
    text += fmt::format("        the device became {} during the finals\n", speed_text(drift));
  if (!finals.decided() && any_ties) {
    // The finals ended because of one of the two.
    const bool all_rounds = finals.rounds() >= static_cast<std::size_t>(spec.measure.rep);
    text +=
        fmt::format("        no clear winner: a larger [measure] {} allows more\n", all_rounds ? "rep" : "max_time_ms");
  }
  return text;
}

/// Number of configurations that this run did not try: the store has them from earlier runs.
std::size_t of_earlier_runs(const run::TuneResult& result, const std::vector<const record::Record*>& order) {
  std::set<Bindings> own;
  for (const record::Record& record : result.records) own.insert(record.config);
  return static_cast<std::size_t>(
      std::count_if(order.begin(), order.end(), [&](const auto* record) { return !own.contains(record->config); }));
}

std::string nothing_passed_text(const run::TuneResult& result) {
  const char* passed = "a configuration compiled, ran and gave the right result";
  if (result.out_of_time)
    return fmt::format("no configuration passed yet: the time was up before {}; give it more seconds\n", passed);
  if (result.interrupted) return fmt::format("no configuration passed yet: interrupted before {}\n", passed);
  const auto failed = std::find_if(result.further.begin(), result.further.end(), [](const record::Record& record) {
    return !record.finals.empty() && record.outcome != Outcome::ok;
  });
  if (failed != result.further.end())
    return fmt::format("no configuration passed: what the search found failed in the finals, e.g. {}: {}\n",
                       space::bindings_text(failed->config), base::one_line(failed->message));
  if (const auto ok = result.counts.find(Outcome::ok); ok != result.counts.end() && ok->second > 0)
    return "no configuration passed: none has a value of the objective: does the device report all that it names?\n";
  return "no configuration passed: none compiled, ran and gave the right result\n";
}

}  // namespace

std::optional<record::FinalsResult> finals_behind(const run::TuneResult& result, const record::Record& best,
                                                  const record::Criterion& criterion) {
  if (!criterion.decided_by(best)) return std::nullopt;
  std::vector<const record::Record*> met;
  for (const record::Record& record : result.further)
    if (record.finals == best.finals) met.push_back(&record);
  return record::FinalsResult(met, criterion);
}

bool is_advised(const run::TuneResult& result, const record::Record& best) {
  return std::any_of(result.records.begin(), result.records.end(), [&](const record::Record& record) {
    return !record.proposed_by.empty() && record.config == best.config;
  });
}

const record::Record* default_record(const run::TuneResult& result) {
  return result.default_config ? latest_record(result.all(), *result.default_config) : nullptr;
}

const record::Record* latest_record(const std::vector<const record::Record*>& records, const Bindings& config) {
  const record::Record* found = nullptr;
  for (const record::Record* record : records)
    if (record->config == config && !record->drift) found = record;
  return found;
}

std::string config_text(const spec::Spec& spec, const Bindings& config) {
  std::string text;
  for (const space::Parameter& parameter : spec.parameters)
    if (const auto found = config.find(parameter.name); found != config.end())
      text += (text.empty() ? "" : " ") + parameter.name + "=" + space::shown_text(found->second);
  return text;
}

std::string different_text(const spec::Spec& spec, const Bindings& config, const Bindings& other) {
  Bindings different;
  for (const auto& [name, value] : config)
    if (const auto known = other.find(name); known == other.end() || known->second != value)
      different.emplace(name, value);
  return config_text(spec, different);
}

std::string metrics_text(const spec::Spec& spec, const record::Record& record) {
  std::string text;
  for (const auto& [name, value] : record::metrics_of(spec, record)) {
    const ShownMetric shown = shown_metric(name, std::abs(value));
    text += (text.empty() ? "" : ", ") + shown.name + " " + number_text(value * shown.factor);
  }
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

namespace {

/// On one line: the lines of a message are separated by " | ".
std::string message_line(const std::string& message) {
  std::string line;
  for (const char c : base::printable_lines(message, 600)) {
    if (c == '\n')
      line += " | ";
    else
      line += c;
  }
  return line;
}

}  // namespace

std::vector<FailureGroup> failure_groups(const run::TuneResult& result) {
  std::map<Outcome, FailureGroup> groups;
  for (const record::Record& record : result.records) {
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    FailureGroup& group = groups[record.outcome];
    group.outcome = record.outcome;
    ++group.count;
    const bool reported = record::is_sanitizer_report(record.message);
    if ((!group.example && !record.message.empty()) || (reported && !group.sanitizer)) group.example = &record;
    group.sanitizer = group.sanitizer || reported;
  }
  for (const auto& [outcome, count] : result.unread) {
    if (outcome == Outcome::ok || outcome == Outcome::pruned) continue;
    groups[outcome].outcome = outcome;
    groups[outcome].count += count;
  }
  std::vector<FailureGroup> list;
  for (const auto& [outcome, group] : groups) list.push_back(group);
  std::stable_sort(list.begin(), list.end(), [](const FailureGroup& a, const FailureGroup& b) {
    const auto rank = [](const FailureGroup& group) {
      return std::tuple(!group.sanitizer, group.outcome == Outcome::rejected, ~group.count);
    };
    return rank(a) < rank(b);
  });
  return list;
}

std::string failures_text(const spec::Spec& spec, const run::TuneResult& result) {
  std::string text;
  bool has_log = false;
  for (const FailureGroup& group : failure_groups(result)) {
    if (!group.example) continue;
    has_log = has_log || group.outcome == Outcome::compile_failed || group.outcome == Outcome::crashed;
    text += fmt::format("{} {}, e.g. {}: {}\n", group.count, to_string(group.outcome),
                        config_text(spec, group.example->config), message_line(group.example->message));
  }
  if (has_log) text += "(run --log FILE keeps all that compilers and kernels print)\n";
  return text;
}

namespace {

/// "12 of 24 valid configurations in 3 s: 9 ok, 3 pruned (2 from the store)", then other contents of the table, and the
/// costs. earlier: number of configurations of earlier runs.
std::string summary_text(const run::TuneResult& result, std::size_t earlier) {
  std::string text = fmt::format("\n{} of {} valid configurations in {}: {}", result.evaluated(), result.space_size,
                                 base::human_seconds(result.total_s), counts_text(result));
  std::vector<std::string> remarks;
  if (const std::uint64_t stored = result.from_store - result.from_peers)
    remarks.push_back(fmt::format("{} from the store", stored));
  if (result.from_peers) remarks.push_back(fmt::format("{} by other processes", result.from_peers));
  if (!remarks.empty()) text += fmt::format(" ({})", fmt::join(remarks, ", "));
  text += '\n';
  if (earlier)
    text += fmt::format("{} configuration{} of earlier runs also count{}\n", earlier, earlier == 1 ? "" : "s",
                        earlier == 1 ? "s" : "");
  return text + fmt::format("compile: {} of CPU time; device busy: {}\n", base::human_seconds(result.compile_cpu_s),
                            base::human_seconds(result.device_busy_s));
}

/// The parameters of the winner. Of many, those that differ from the default come first.
std::string winner_text(const spec::Spec& spec, const run::TuneResult& result, const Bindings& config) {
  constexpr std::size_t short_enough = 74;  // after "best: ", in 80 columns
  const std::string all = config_text(spec, config);
  if (all.size() <= short_enough || !result.default_config) return "best: " + all + "\n";
  const std::string different = different_text(spec, config, *result.default_config);
  if (different.empty()) return "best: the default configuration\n      " + all + "\n";
  Bindings same;
  for (const auto& [name, value] : config)
    if (const auto known = result.default_config->find(name);
        known != result.default_config->end() && known->second == value)
      same.emplace(name, value);
  return "best: " + different + "\n" + (same.empty() ? "" : "      as by default: " + config_text(spec, same) + "\n");
}

/// "2 others are tied with it (within noise or 1 %)", or by how much the next one is slower.
std::string certainty_text(const record::Standings& standings, const record::Criterion& criterion) {
  const std::size_t ties = standings.ties().size();
  if (ties)
    return fmt::format("      {} other{} tied with it (within noise{})\n", ties, ties == 1 ? " is" : "s are",
                       criterion.decided_by(standings.best()) ? " or 1 %" : "");
  const auto next = std::find_if(
      standings.order().begin() + 1, standings.order().end(),
      [&](const record::Record* record) { return record->tainted.empty() == standings.best().tainted.empty(); });
  const auto ratio = next == standings.order().end() ? std::nullopt : standings.ratio(**next);
  if (!ratio || !standings.by_time()) return {};
  return fmt::format("      certain: the next one takes {:.3f} times as long ({:.3f} .. {:.3f})\n", ratio->value,
                     ratio->low, ratio->high);
}

/// The winner with its time, metrics and ties.
std::string best_text(const spec::Spec& spec, const run::TuneResult& result, const record::Standings& standings,
                      const record::Criterion& criterion) {
  const record::Record& record = standings.best();
  std::string text = winner_text(spec, result, record.config);
  text += fmt::format(
      "      {} ({} {} .. {})", base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)),
      interval_name(spec), base::human_time_ms(record.time_ms.low), base::human_time_ms(record.time_ms.high));
  if (const std::string metrics = metrics_text(spec, record); !metrics.empty()) text += ", " + metrics;
  text += "\n";
  if (!spec.objective.goals.empty()) text += "      " + objective_text(spec, record) + "\n";
  return text + certainty_text(standings, criterion);
}

/// The reference kernel's time and how much faster the best one is. A faster reference is a warning, before the best.
std::string reference_text(const spec::Spec& spec, const record::Record& best, bool faster) {
  const auto time_ms = record::reference_ms(best, spec.measure.statistic);
  const auto speedup = record::speedup(best, spec.measure.statistic);
  if (!time_ms || !speedup || (*speedup < 1) != faster) return {};
  if (faster)
    return fmt::format(
        "warning: the reference '{}' is faster than every configuration: {}, {:.3g} times as fast as the "
        "best\n",
        best.reference->name, base::human_time_ms(*time_ms), 1 / *speedup);
  return fmt::format("      reference: {}, {}: {:.3g} times the time of the best\n", best.reference->name,
                     base::human_time_ms(*time_ms), *speedup);
}

/// The default configuration, if this run tried it, compared with the best one.
std::string default_text(const spec::Spec& spec, const run::TuneResult& result, const record::Standings& standings) {
  const std::string sentence = default_sentence(spec, default_record(result), standings);
  return sentence.empty() ? "" : "      default: " + sentence + "\n";
}

std::string caveats_text(const spec::Spec& spec, const record::Record& best) {
  std::string text;
  if (device::is_emulated(best.device)) text += fmt::format("      emulated: {}\n", device::simulated_times);
  if (!best.tainted.empty()) text += fmt::format("      tainted: {}\n", fmt::join(best.tainted, "; "));
  if (!spec::validates(spec))
    text += spec.process && spec.process->serves
                ? "      not validated: the spec does not have [process] check = true\n"
            : spec.process ? "      not validated but by its exit code: the spec has neither check nor expect\n"
                           : "      not validated: the spec names no reference\n";
  return text;
}

std::string advisor_text(const run::TuneResult& result, const record::Record* best) {
  if (!result.advisor) return {};
  const run::AdvisorResult& advisor = *result.advisor;
  return fmt::format("advisor: {} proposed, {} refused, {} tried{}\n", advisor.proposed, advisor.refused, advisor.tried,
                     best && is_advised(result, *best) ? ", best found by it" : "");
}

/// The winner is emphasised, failures are red, and costs are dimmed.
std::string with_styles(const std::string& text) {
  std::string marked;
  std::istringstream lines(text);
  bool in_best = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins_best = line.starts_with("best: ");
    // Its continuation lines, if it is wrapped, are those up to the one with the time.
    in_best = begins_best || (in_best && line.starts_with("      ") && line.find('=') != std::string::npos &&
                              line.find(" interval ") == std::string::npos);
    if (in_best)
      marked += base::styled(base::Style::best, line);
    else if (line.starts_with("compile: ") || line.starts_with("same in all rows: ") || line.starts_with("... "))
      marked += base::styled(base::Style::dim, line);
    else if (line.starts_with("warning: "))
      marked += base::styled(base::Style::warning, line);
    else if (line.starts_with("no configuration passed"))
      marked += base::styled(base::Style::error, line);
    else
      marked += line;
    marked += '\n';
  }
  return marked;
}

}  // namespace

std::string run_text(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows,
                     const TextLayout& layout) {
  const record::Objective objective(spec);
  const record::Criterion criterion = objective.criterion(result.problem, result.device);
  const record::Standings standings(result.all(), criterion);
  const std::vector<const record::Record*>& order = standings.order();
  const auto unread = result.unread.find(Outcome::ok);
  const std::size_t passed = order.size() + (unread == result.unread.end() ? 0 : unread->second);
  const std::size_t more = passed > rows ? passed - rows : 0;
  std::string text;
  if (!standings.empty()) {
    const auto finals = finals_behind(result, standings.best(), criterion);
    if (finals) text += "\n" + finals_text(spec, result, *finals, !standings.ties().empty());
    text += "\n" + results_table(spec, standings, rows, more, layout.width);
  }
  text += summary_text(result, of_earlier_runs(result, order));
  text += advisor_text(result, order.empty() ? nullptr : order.front());
  if (order.empty()) text += nothing_passed_text(result);
  text += failures_text(spec, result);
  if (!order.empty()) {
    const record::Record& best = standings.best();
    text += "\n" + reference_text(spec, best, true) + best_text(spec, result, standings, criterion);
    if (spec.objective.goals.size() == 2) text += pareto_text(spec, objective, order);
    text += reference_text(spec, best, false) + default_text(spec, result, standings) + caveats_text(spec, best);
  }
  if (layout.wraps_lines) text = wrapped_lines(text, layout.width);
  return layout.marks_styles ? with_styles(text) : text;
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

}  // namespace xtune::report
