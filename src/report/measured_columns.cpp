// Each column with the text of its cells.
#include "report/measured_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace xtune::report {

MeasuredColumns::MeasuredColumns(const spec::Spec& spec, const std::vector<const record::Record*>& records,
                                 const Comparison* comparison) {
  const measure::Statistic by = spec.measure.statistic;
  const auto any = [&](const auto& has) {
    return std::any_of(records.begin(), records.end(), [&](const record::Record* record) { return has(*record); });
  };
  const auto add = [&](const std::string& title, std::function<std::string(const record::Record&)> cell) {
    columns_.push_back({title, std::move(cell)});
  };
  add("time", [by](const record::Record& one) { return base::human_time_ms(measure::statistic(one.time_ms, by)); });
  if (comparison) add("vs best", [comparison](const record::Record& one) { return comparison->text(one); });
  if (any([](const record::Record& one) { return one.reference.has_value(); }))
    add("speed-up", [by](const record::Record& one) {
      const auto speedup = record::speedup(one, by);
      return speedup ? fmt::format("{:.3g}", *speedup) : "-";
    });
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
