// Each column with the text of its cells.
#include "report/measured_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

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

}  // namespace xtune::report
