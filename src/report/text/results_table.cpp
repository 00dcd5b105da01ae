// Comparison and layout.
#include "report/text/results_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.hpp"
#include "core/record/objective.hpp"
#include "report/text/run_report.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

MeasuredColumns::MeasuredColumns(const spec::Spec& spec, const std::vector<const record::Record*>& records,
                                 const record::Standings& standings) {
  const measure::Statistic by = spec.measure.statistic;
  const auto any = [&](const auto& has) {
    return std::any_of(records.begin(), records.end(), [&](const record::Record* record) { return has(*record); });
  };
  const auto add = [&](const std::string& title, std::function<std::string(const record::Record&)> cell) {
    columns_.push_back({title, std::move(cell)});
  };
  add("time", [by](const record::Record& one) { return base::human_time_ms(measure::statistic(one.time_ms, by)); });
  const bool compares = standings.by_time();
  if (compares)
    add("vs best", [&standings](const record::Record& one) {
      const auto ratio = standings.ratio(one);
      const bool tie = ratio && ratio->tied && &one != &standings.best();
      const bool tainted = !one.tainted.empty() && standings.best().tainted.empty();
      return (ratio ? fmt::format("{:.3f}", ratio->value) : "-") + (tie ? " tie" : tainted ? " tainted" : "");
    });
  if (compares)
    add("95 % interval", [&standings](const record::Record& one) {
      const auto ratio = standings.ratio(one);
      return ratio && &one != &standings.best() ? fmt::format("{:.3f} .. {:.3f}", ratio->low, ratio->high) : "";
    });
  if (any([](const record::Record& one) { return one.reference.has_value(); }))
    add("speed-up", [by](const record::Record& one) {
      const auto speedup = record::speedup(one, by);
      return speedup ? fmt::format("{:.3g}", *speedup) : "-";
    });
  if (!compares)
    add(interval_name(spec), [](const record::Record& one) {
      return base::human_time_ms(one.time_ms.low) + " .. " + base::human_time_ms(one.time_ms.high);
    });
  add("noise", [](const record::Record& one) { return fmt::format("{:.1f} %", one.time_ms.noise * 100); });
  if (any([](const record::Record& one) { return one.time_ms.outliers > 0; }))
    add("outliers", [](const record::Record& one) { return std::to_string(one.time_ms.outliers); });
  if (any([](const record::Record& one) { return one.repeatable.has_value(); }))
    add("same bits", [](const record::Record& one) {
      return !one.repeatable ? "-" : one.repeatable->same() ? "yes" : "no";
    });
}

std::vector<std::string> MeasuredColumns::header() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  return titles;
}

std::vector<std::string> MeasuredColumns::cells(const record::Record& record) const {
  std::vector<std::string> cells;
  for (const Column& column : columns_) cells.push_back(column.cell(record));
  return cells;
}

namespace {

void add_metrics(FittedTable& table, const spec::Spec& spec, const std::vector<const record::Record*>& order) {
  std::vector<std::vector<double>> values;
  for (const record::Record* record : order) {
    values.emplace_back();
    for (const auto& [name, value] : record::metrics_of(spec, *record)) values.back().push_back(value);
  }
  const std::vector<std::string> names = record::metric_names(spec);
  for (std::size_t i = 0; i < names.size(); ++i) {
    double largest = 0;
    for (const auto& row : values)
      if (std::isfinite(row[i])) largest = std::max(largest, std::abs(row[i]));
    const ShownMetric shown = shown_metric(names[i], largest);
    table.header.push_back(shown.name);
    for (std::size_t row = 0; row < values.size(); ++row)
      table.rows[row].push_back(number_text(values[row][i] * shown.factor));
  }
}

}  // namespace

std::string results_table(const spec::Spec& spec, const record::Standings& standings, std::size_t rows,
                          std::size_t more, std::size_t width) {
  std::vector<const record::Record*> order = standings.order();
  order.resize(std::min(order.size(), rows));
  FittedTable table;
  const MeasuredColumns measured(spec, order, standings);
  table.header = measured.header();
  table.header.insert(table.header.begin(), "#");
  for (const space::Parameter& parameter : spec.parameters) table.names.push_back(parameter.name);
  for (const record::Record* record : order) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = measured.cells(*record);
    row.insert(row.begin(), std::to_string(table.rows.size()));
    std::vector<std::string>& values = table.values.emplace_back();
    for (const space::Parameter& parameter : spec.parameters) {
      const auto found = record->config.find(parameter.name);
      values.push_back(found == record->config.end() ? "-" : to_text(found->second));
    }
  }
  add_metrics(table, spec, order);
  if (more) table.end = fmt::format("... {} more", more);
  return render_fitted(table, width);
}

std::string default_sentence(const spec::Spec& spec, const record::Record* found, const record::Standings& standings) {
  if (!found) return {};
  const record::Record& best = standings.best();
  if (found->config == best.config) return "the best is the default configuration";
  const std::string what = different_text(spec, found->config, best.config);
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

}  // namespace xtune::report
