// The output at the end of a run, groups and examples of failures, and the progress line, which tries fewer and fewer
// parts.
#include "report/text/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "core/store/best.hpp"
#include "core/store/objective.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

std::vector<MeasuredColumn> measured_columns(const spec::Spec& spec, const std::vector<const store::Record*>& records,
                                             const store::Standings& standings) {
  std::vector<MeasuredColumn> columns;
  const measure::Statistic by = spec.measure.statistic;
  const auto any = [&](const auto& has) {
    return std::any_of(records.begin(), records.end(), [&](const store::Record* record) { return has(*record); });
  };
  const auto add = [&](const std::string& title, std::function<std::string(const store::Record&)> cell) {
    columns.push_back({title, std::move(cell)});
  };
  add("time", [by](const store::Record& one) { return base::human_time_ms(measure::statistic(one.time_ms, by)); });
  const bool compares = standings.by_time();
  if (compares)
    add("vs best", [&standings](const store::Record& one) {
      const auto ratio = standings.ratio(one);
      const bool tie = ratio && ratio->tied && &one != &standings.best();
      const bool tainted = !one.tainted.empty() && standings.best().tainted.empty();
      return (ratio ? fmt::format("{:.3f}", ratio->value) : "-") + (tie ? " tie" : tainted ? " tainted" : "");
    });
  if (compares)
    add("95 % interval", [&standings](const store::Record& one) {
      const auto ratio = standings.ratio(one);
      return ratio && &one != &standings.best() ? fmt::format("{:.3f} .. {:.3f}", ratio->low, ratio->high) : "";
    });
  if (any([](const store::Record& one) { return one.reference.has_value(); }))
    add("speed-up", [by, reference = spec.validate.reference.config](const store::Record& one) {
      const auto speedup = one.config == reference ? std::nullopt : store::speedup(one, by);
      return speedup ? fmt::format("{:.3g}", *speedup) : "-";
    });
  if (!compares)
    add(interval_name(spec), [](const store::Record& one) {
      return base::human_time_ms(one.time_ms.low) + " .. " + base::human_time_ms(one.time_ms.high);
    });
  add("noise", [](const store::Record& one) { return fmt::format("{:.1f} %", one.time_ms.noise * 100); });
  if (any([](const store::Record& one) { return one.time_ms.outliers > 0; }))
    add("outliers", [](const store::Record& one) { return std::to_string(one.time_ms.outliers); });
  if (any([](const store::Record& one) { return one.repeatable.has_value(); }))
    add("same bits", [](const store::Record& one) {
      return !one.repeatable ? "-" : one.repeatable->same() ? "yes" : "no";
    });
  return columns;
}

namespace {

/// Adds the metrics as columns, each with the prefix that fits its largest value.
void add_metrics(FittedTable& table, const spec::Spec& spec, const std::vector<const store::Record*>& order) {
  std::vector<std::vector<std::pair<std::string, double>>> metrics;
  for (const store::Record* record : order) metrics.push_back(store::metrics_of(spec, *record));
  const std::vector<std::string> names = store::metric_names(spec);
  for (std::size_t i = 0; i < names.size(); ++i) {
    double largest = 0;
    for (const auto& row : metrics)
      if (std::isfinite(row[i].second)) largest = std::max(largest, std::abs(row[i].second));
    const ShownMetric shown = shown_metric(names[i], largest);
    table.columns.push_back({shown.name});
    for (std::size_t row = 0; row < metrics.size(); ++row)
      table.rows[row].push_back(number_text(metrics[row][i].second * shown.factor));
  }
}

/// The first `rows` of the order in `width` columns. more: number of others that passed.
std::string results_table(const spec::Spec& spec, const store::Standings& standings, std::size_t rows, std::size_t more,
                          std::size_t width) {
  std::vector<const store::Record*> order = standings.order();
  order.resize(std::min(order.size(), rows));
  FittedTable table{{{"#"}}};
  for (std::size_t i = 0; i < order.size(); ++i) table.rows.push_back({std::to_string(i + 1)});
  const auto add = [&](const FittedTable::Column& column, const auto& cell) {
    table.columns.push_back(column);
    for (std::size_t i = 0; i < order.size(); ++i) table.rows[i].push_back(cell(*order[i]));
  };
  for (const MeasuredColumn& column : measured_columns(spec, order, standings)) add({column.title}, column.cell);
  add_metrics(table, spec, order);
  for (const space::Parameter& parameter : spec.parameters)
    add({parameter.name, FittedTable::Kind::parameter}, [&](const store::Record& record) {
      const auto found = record.config.find(parameter.name);
      return found == record.config.end() ? "-" : to_text(found->second);
    });
  if (more) table.end = fmt::format("... {} more", more);
  return render_fitted(table, width);
}

}  // namespace

std::string default_sentence(const spec::Spec& spec, const store::Record* found, const store::Standings& standings) {
  if (!found) return {};
  const store::Record& best = standings.best();
  if (found->config == best.config) return "the best is the default configuration";
  const std::string what = config_text(spec, without(found->config, best.config));
  const bool pruned = found->outcome == Outcome::pruned;
  if (found->outcome != Outcome::ok && !pruned) return fmt::format("{}: {}", what, to_string(found->outcome));
  const auto ratio = standings.ratio(*found);
  if (!ratio || !standings.by_time()) return {};
  const double own_ms = pruned ? found->time_ms.min : measure::statistic(found->time_ms, spec.measure.statistic);
  return fmt::format("{}{}, {:.3g} times the time of the best ({})", pruned ? "at least " : "",
                     base::human_time_ms(own_ms), ratio->value, what);
}

std::string interval_name(const spec::Spec& spec) {
  return spec.measure.statistic == measure::Statistic::median ? "95 % interval" : "median's 95 % interval";
}

ShownMetric shown_metric(const std::string& name, double largest) {
  constexpr std::string_view prefixes = "kMGTP";
  constexpr std::string_view rates[] = {"FLOPS", "FLOP_per_s", "FLOPs_per_s", "OPS", "OP_per_s",
                                        "IOPS",  "B_per_s",    "Bps",         "B/s", "FLOP/s"};
  ShownMetric shown{name, 1};
  if (name.empty() || largest <= 0) return shown;
  const std::string rate = name.substr(1);
  std::size_t prefix = prefixes.find(name[0] == 'K' ? 'k' : name[0]);
  if (prefix == std::string_view::npos || std::find(std::begin(rates), std::end(rates), rate) == std::end(rates))
    return shown;
  for (; largest * shown.factor < 1 && prefix > 0; --prefix) shown.factor *= 1000;
  for (; largest * shown.factor >= 1e4 && prefix + 1 < prefixes.size(); ++prefix) shown.factor /= 1000;
  if (shown.factor != 1) shown.name = prefixes[prefix] + rate;
  return shown;
}

std::string number_text(double number) { return std::isfinite(number) ? fmt::format("{:.4g}", number) : "-"; }

namespace {

std::string pareto_text(const spec::Spec& spec, const store::Objective& objective,
                        const std::vector<const store::Record*>& order) {
  std::vector<std::string> header{"Pareto set"};
  for (const std::string& name : objective.names()) header.push_back(name);
  std::vector<std::vector<std::string>> cells;
  for (const store::Record* record : objective.pareto(order)) {
    cells.push_back({config_text(spec, record->config)});
    for (const double value : objective.values(*record)) cells.back().push_back(number_text(value));
  }
  return render_table(header, cells);
}

std::string speed_text(double factor) {
  return fmt::format("{:.0f} % {}", std::abs(factor - 1) * 100, factor > 1 ? "slower" : "faster");
}

/// How the times of the table were made.
std::string finals_text(const spec::Spec& spec, const run::TuneResult& result, const store::FinalsResult& finals,
                        bool any_ties) {
  const auto failures = std::count_if(finals.order().begin(), finals.order().end(),
                                      [](const store::Record* record) { return record->outcome != Outcome::ok; });
  std::string text =
      fmt::format("finals: {} configurations in {} rounds{}; all times are on their scale\n", finals.order().size(),
                  finals.rounds(), failures ? fmt::format(", {} failed", failures) : "");
  if (const auto reported = spec::reported_names(spec); !reported.empty())
    text += fmt::format("        {}: as reported in each configuration's own runs, not on that scale\n",
                        fmt::join(reported, ", "));
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
std::size_t of_earlier_runs(const run::TuneResult& result, const std::vector<const store::Record*>& order) {
  std::set<Bindings> own;
  for (const store::Record& record : result.records) own.insert(record.config);
  return static_cast<std::size_t>(
      std::count_if(order.begin(), order.end(), [&](const auto* record) { return !own.contains(record->config); }));
}

std::string nothing_passed_text(const run::TuneResult& result) {
  const char* passed = "a configuration compiled, ran and gave the right result";
  if (result.out_of_time)
    return fmt::format("no configuration passed yet: the time was up before {}; give it more seconds\n", passed);
  if (result.interrupted) return fmt::format("no configuration passed yet: interrupted before {}\n", passed);
  const auto failed = std::find_if(result.further.begin(), result.further.end(), [](const store::Record& record) {
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

std::optional<store::FinalsResult> finals_behind(const std::vector<store::Record>& records, const store::Record& best,
                                                 const store::Criterion& criterion) {
  if (!criterion.decided_by(best)) return std::nullopt;
  std::vector<const store::Record*> met;
  for (const store::Record& record : records)
    if (record.finals == best.finals) met.push_back(&record);
  return store::FinalsResult(met, criterion);
}

bool is_advised(const run::TuneResult& result, const store::Record& best) {
  return std::any_of(result.records.begin(), result.records.end(), [&](const store::Record& record) {
    return !record.proposed_by.empty() && record.config == best.config;
  });
}

const store::Record* record_of(const std::optional<Bindings>& config, const store::Standings& standings,
                               const std::vector<const store::Record*>& records) {
  const store::Record* found = nullptr;
  for (const store::Record* record : records)
    if (record->config == config && !record->drift) found = record;
  for (const store::Record* record : standings.order())
    if (record->config == config) return record;
  return found;
}

std::string counts_text(const std::map<Outcome, std::uint64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : counts) parts.push_back(fmt::format("{} {}", count, to_string(outcome)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string config_text(const spec::Spec& spec, const Bindings& config) {
  if (spec.parameters.empty()) return "the only configuration";
  std::string text;
  for (const space::Parameter& parameter : spec.parameters)
    if (const auto found = config.find(parameter.name); found != config.end())
      text += (text.empty() ? "" : " ") + parameter.name + "=" + space::shown_text(found->second);
  return text;
}

Bindings without(Bindings values, const Bindings& other) {
  std::erase_if(values, [&](const auto& each) {
    const auto known = other.find(each.first);
    return known != other.end() && known->second == each.second;
  });
  return values;
}

std::string metrics_text(const spec::Spec& spec, const store::Record& record) {
  std::string text;
  for (const auto& [name, value] : store::metrics_of(spec, record)) {
    const ShownMetric shown = shown_metric(name, std::abs(value));
    text += (text.empty() ? "" : ", ") + shown.name + " " + number_text(value * shown.factor);
  }
  return text;
}

std::string objective_text(const spec::Spec& spec, const store::Record& record) {
  const store::Objective objective(spec);
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
  return fmt::format("{}", fmt::join(base::split(base::printable_lines(message, 600), '\n'), " | "));
}

}  // namespace

std::vector<FailureGroup> failure_groups(const run::TuneResult& result) {
  std::map<Outcome, FailureGroup> groups;
  for (const store::Record& record : result.records) {
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    FailureGroup& group = groups[record.outcome];
    group.outcome = record.outcome;
    ++group.count;
    const bool reported = store::is_sanitizer_report(record.message);
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

std::string sanitize_hint(const run::TuneResult& result) {
  const bool wrong = std::any_of(result.records.begin(), result.records.end(), [](const store::Record& record) {
    return (record.outcome == Outcome::wrong_result || record.outcome == Outcome::crashed) &&
           record.device.backend == "host" && !store::is_sanitized(record);
  });
  return wrong ? "(--sanitize names the line of an access outside of a buffer, and finds a missing barrier)\n" : "";
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
  return text + sanitize_hint(result);
}

namespace {

/// "12 of 24 valid configurations in 3 s: 9 ok, 3 pruned (2 from the store)", then other contents of the table, and the
/// costs. earlier: number of configurations of earlier runs.
std::string summary_text(const run::TuneResult& result, std::size_t earlier) {
  std::string text =
      fmt::format("\n{} of {} valid configurations in {}: {}", result.evaluated(), result.space_size,
                  base::human_seconds(result.total_s), result.counts.empty() ? "none" : counts_text(result.counts));
  std::vector<std::string> remarks;
  if (const std::uint64_t stored = result.from_store - result.from_peers)
    remarks.push_back(fmt::format("{} from the store", stored));
  if (result.from_peers) remarks.push_back(fmt::format("{} by other processes", result.from_peers));
  if (!remarks.empty()) text += fmt::format(" ({})", fmt::join(remarks, ", "));
  text += '\n';
  if (earlier)
    text +=
        fmt::format("{} of earlier runs also count{}\n", counted(earlier, "configuration"), earlier == 1 ? "s" : "");
  return text + fmt::format("compile: {} of CPU time; device busy: {}\n", base::human_seconds(result.compile_cpu_s),
                            base::human_seconds(result.device_busy_s));
}

/// The parameters of the winner. Of many, those that differ from the default come first.
std::string winner_text(const spec::Spec& spec, const run::TuneResult& result, const Bindings& config) {
  constexpr std::size_t short_enough = 74;  // after "best: ", in 80 columns
  const std::string all = config_text(spec, config);
  if (all.size() <= short_enough || !result.default_config) return "best: " + all + "\n";
  const Bindings different = without(config, *result.default_config);
  if (different.empty()) return "best: the default configuration\n      " + all + "\n";
  const std::string same = config_text(spec, without(config, different));
  return "best: " + config_text(spec, different) + "\n" + (same.empty() ? "" : "      as by default: " + same + "\n");
}

/// Of the fastest configuration that was disturbed, and therefore ranks behind the best, although its time is shorter:
/// disturbances take time.
std::string disturbed_text(const spec::Spec& spec, const store::Standings& standings) {
  const auto time_of = [&](const store::Record* record) {
    return measure::statistic(record->time_ms, spec.measure.statistic);
  };
  constexpr double clearly = 0.95;
  const store::Record* fastest = &standings.best();
  for (const store::Record* record : standings.order())
    if (!record->tainted.empty() && time_of(record) < time_of(fastest)) fastest = record;
  if (!standings.by_time() || !standings.best().tainted.empty() ||
      time_of(fastest) > clearly * time_of(&standings.best()))
    return {};
  return fmt::format("      not certain: {} took {}, and ranks last because it was disturbed; measure it again\n",
                     config_text(spec, fastest->config), base::human_time_ms(time_of(fastest)));
}

/// "2 others are tied with it (within noise or 1 %)", or by how much the next one is slower.
std::string certainty_text(const spec::Spec& spec, const store::Standings& standings,
                           const store::Criterion& criterion) {
  if (std::string disturbed = disturbed_text(spec, standings); !disturbed.empty()) return disturbed;
  const std::size_t ties = standings.ties().size();
  if (ties)
    return fmt::format("      {} other{} tied with it (within noise{})\n", ties, ties == 1 ? " is" : "s are",
                       criterion.decided_by(standings.best()) ? " or 1 %" : "");
  const auto next = std::find_if(
      standings.order().begin() + 1, standings.order().end(),
      [&](const store::Record* record) { return record->tainted.empty() == standings.best().tainted.empty(); });
  const auto ratio = next == standings.order().end() ? std::nullopt : standings.ratio(**next);
  if (!ratio || !standings.by_time()) return {};
  const auto closer = std::count_if(next, standings.order().end(), [&](const store::Record* record) {
    const auto other = standings.ratio(*record);
    return !record->tainted.empty() && (*next)->tainted.empty() && other && other->value < ratio->value;
  });
  const std::string text =
      fmt::format("the next one takes {:.3f} times as long ({:.3f} .. {:.3f})", ratio->value, ratio->low, ratio->high);
  if (closer == 0) return "      certain: " + text + "\n";
  return fmt::format("      {}, but {} closer and disturbed: measure again\n", text,
                     closer == 1 ? "1 other is" : fmt::format("{} others are", closer));
}

/// The winner with its time, metrics and ties.
std::string best_text(const spec::Spec& spec, const run::TuneResult& result, const store::Standings& standings,
                      const store::Criterion& criterion) {
  const store::Record& record = standings.best();
  std::string text = winner_text(spec, result, record.config);
  text += fmt::format(
      "      {} ({} {} .. {})", base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)),
      interval_name(spec), base::human_time_ms(record.time_ms.low), base::human_time_ms(record.time_ms.high));
  if (const std::string metrics = metrics_text(spec, record); !metrics.empty()) text += ", " + metrics;
  text += "\n";
  if (!spec.objective.goals.empty()) text += "      " + objective_text(spec, record) + "\n";
  return text + certainty_text(spec, standings, criterion);
}

/// The reference's time and how much faster the best one is; a configuration's is in its own row, on the scale of all.
/// A reference that is faster by more than the noise is a warning, before the best.
std::string reference_text(const spec::Spec& spec, const store::Record& best, bool faster) {
  const auto time_ms = store::reference_ms(best, spec.measure.statistic);
  const auto speedup = store::speedup(best, spec.measure.statistic);
  if (!time_ms || !speedup || spec.validate.reference.config) return {};
  const measure::Summary reference = measure::summarize(best.reference->samples_ms);
  if ((*speedup < 1 && reference.high < best.time_ms.low) != faster) return {};
  if (faster)
    return fmt::format(
        "warning: the reference '{}' is faster than every configuration: {}, {:.3g} times as fast as the "
        "best{}\n",
        best.reference->name, base::human_time_ms(*time_ms), 1 / *speedup,
        best.device.backend == "host" ? "; the host backend runs GPU kernels on a CPU, to check them: this comparison "
                                        "says little about a GPU"
                                      : "");
  return fmt::format("      reference: {}, {}: {:.3g} times the time of the best{}\n", best.reference->name,
                     base::human_time_ms(*time_ms), *speedup, *speedup < 1 ? " (within noise)" : "");
}

/// The default configuration, if this run tried it, compared with the best one.
std::string default_text(const spec::Spec& spec, const run::TuneResult& result, const store::Standings& standings) {
  const store::Record* const found = record_of(result.default_config, standings, result.all());
  const std::string sentence = default_sentence(spec, found, standings);
  return sentence.empty() ? "" : "      default: " + sentence + "\n";
}

std::string caveats_text(const spec::Spec& spec, const store::Record& best) {
  std::string text;
  if (device::is_emulated(best.device)) text += fmt::format("      emulated: {}\n", device::simulated_times);
  if (!best.tainted.empty()) text += fmt::format("      tainted: {}\n", fmt::join(best.tainted, "; "));
  if (!spec::validates(spec))
    text += spec.process && spec.process->serves
                ? "      not validated: the spec does not have [process] validate = true\n"
            : spec.process ? "      not validated but by its exit code: no validate or expect judges its output\n"
                           : "      not validated: the spec names no reference\n";
  if (best.config == spec.validate.reference.config && spec.validate.check.empty())
    text += "      validated only against itself: it is the spec's reference\n";
  return text;
}

std::string advisor_text(const run::TuneResult& result, const store::Record* best) {
  if (!result.advisor) return {};
  const run::AdvisorResult& advisor = *result.advisor;
  return fmt::format("advisor: {} proposed, {} refused, {} tried{}\n", advisor.proposed, advisor.refused, advisor.tried,
                     best && is_advised(result, *best) ? ", best found by it" : "");
}

/// The winner is emphasised, failures are red, and costs are dimmed.
std::string with_styles(const std::string& text) {
  std::string marked;
  bool in_best = false;
  for (const std::string_view line : base::split_lines(text)) {
    const bool begins_best = line.starts_with("best: ");
    // Its continuation lines, if it is wrapped, are those up to the one with the time.
    in_best = begins_best || (in_best && line.starts_with("      ") && line.find('=') != std::string_view::npos &&
                              line.find(" interval ") == std::string_view::npos);
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

std::string expected_text(const ExpectedTime& expected) {
  return fmt::format("expected time {}, with 80 % probability {} to {}", base::human_time_ms(expected.time_ms),
                     base::human_time_ms(expected.low_ms), base::human_time_ms(expected.high_ms));
}

static std::string prediction_text(const spec::Spec& spec, const Prediction& one) {
  const std::string time = one.expected  ? expected_text(*one.expected)
                           : one.time_ms ? "measured time " + base::human_time_ms(*one.time_ms)
                                         : "its time is not known";
  return fmt::format("\npredicted, not measured by this run: {}\n  from {}\n  {}\n", config_text(spec, one.config),
                     one.source, time);
}

std::string run_text(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows, std::size_t width,
                     bool styles) {
  if (result.prediction) return prediction_text(spec, *result.prediction);
  const store::Objective objective(spec);
  const store::Criterion criterion = objective.criterion(result.problem, result.device);
  const store::Standings standings(result.all(), criterion);
  const std::vector<const store::Record*>& order = standings.order();
  const auto unread = result.unread.find(Outcome::ok);
  const std::size_t passed = order.size() + (unread == result.unread.end() ? 0 : unread->second);
  const std::size_t more = passed > rows ? passed - rows : 0;
  std::string text;
  if (!standings.empty()) {
    const auto finals = finals_behind(result.further, standings.best(), criterion);
    if (finals) text += "\n" + finals_text(spec, result, *finals, !standings.ties().empty());
    text += "\n" + results_table(spec, standings, rows, more, width);
  }
  text += summary_text(result, of_earlier_runs(result, order));
  text += advisor_text(result, order.empty() ? nullptr : order.front());
  if (order.empty()) text += nothing_passed_text(result);
  text += failures_text(spec, result);
  if (!order.empty()) {
    const store::Record& best = standings.best();
    text += "\n" + reference_text(spec, best, true) + best_text(spec, result, standings, criterion);
    if (spec.objective.goals.size() == 2) text += pareto_text(spec, objective, order);
    text += reference_text(spec, best, false) + default_text(spec, result, standings) + caveats_text(spec, best);
  }
  return styles ? with_styles(text) : text;
}

std::string across_text(const spec::Spec& spec, const std::optional<store::AcrossChoice>& choice) {
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

namespace {

/// The state of a run without a result: "compiling 10, 2 s".
std::string waiting_text(const run::Progress& progress) {
  const std::string what = progress.compiling > 0 ? fmt::format("compiling {}", progress.compiling)
                           : progress.waiting > 0 ? fmt::format("measuring the first of {}", progress.waiting + 1)
                                                  : "measuring";
  const double seconds = std::floor(progress.elapsed_s);
  return fmt::format("{}, {}", what, seconds < 60 ? fmt::format("{:.0f} s", seconds) : base::human_seconds(seconds));
}

std::string joined(std::string_view between, std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts)
    if (!part.empty()) text.append(text.empty() ? "" : between).append(part);
  return text;
}

/// The words that fit; a word that does not is replaced by "...", as are those behind it.
std::string fitting_words(const std::vector<std::string>& words, std::size_t width) {
  constexpr std::string_view more = "...";
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string longer = joined(" ", {text, words[i]});
    const std::size_t rest = i + 1 < words.size() ? 1 + more.size() : 0;
    if (columns_of(longer) + rest > width) return text.empty() ? "" : joined(" ", {text, more});
    text = longer;
  }
  return text;
}

/// The best configuration: the parameters that differ from the default, or all if none does.
std::vector<std::string> telling_words(const spec::Spec& spec, const run::Progress& progress) {
  const Bindings& config = progress.best->config;
  const Bindings differing = progress.default_config ? without(config, *progress.default_config) : config;
  std::vector<std::string> words;
  for (const space::Parameter& parameter : spec.parameters)
    if (const auto found = config.find(parameter.name);
        found != config.end() && (differing.empty() || differing.contains(parameter.name)))
      words.push_back(parameter.name + "=" + space::shown_text(found->second));
  return words;
}

}  // namespace

std::string progress_line(const spec::Spec& spec, const run::Progress& progress, std::size_t width) {
  std::string head = fmt::format("[{}/{}]", progress.done, progress.total);
  if (width > 0 && progress.done == 0) {
    const std::string line = head + " " + waiting_text(progress);
    return columns_of(line) <= width ? line : head;
  }
  if (progress.best)
    head += " best " + base::human_time_ms(measure::statistic(progress.best->time_ms, spec.measure.statistic));
  std::string rate, left;
  const double fresh = static_cast<double>(progress.done - progress.from_store);
  if (progress.elapsed_s > 0 && fresh > 0) {
    const double per_s = fresh / progress.elapsed_s;
    rate = fmt::format("{:.1f} configs/s", per_s);
    if (progress.total > progress.done)
      left = base::human_seconds(static_cast<double>(progress.total - progress.done) / per_s) + " left";
  }
  std::string queues = fmt::format("{} compiling, {} waiting", progress.compiling, progress.waiting);
  const std::string config = progress.best ? config_text(spec, progress.best->config) : "";
  if (width == 0) return joined(" | ", {head, joined(", ", {rate, left}), queues, config});
  if (progress.finals) queues.clear(), left = "measuring the best again, side by side";
  const std::string pace = joined(progress.finals ? " | " : ", ", {rate, left});
  for (const std::string& line : {joined(" | ", {head, pace, queues, config}), joined(" | ", {head, pace, config}),
                                  joined(" | ", {head, left, config})})
    if (columns_of(line) <= width) return line;
  if (progress.finals) left = "finals";
  std::string line = joined(" | ", {head, left});
  if (columns_of(line) > width) return columns_of(head) <= width ? head : "";
  const std::size_t used = columns_of(line) + 3;
  if (progress.best && used < width)
    line = joined(" | ", {line, fitting_words(telling_words(spec, progress), width - used)});
  return line;
}

}  // namespace xtune::report
