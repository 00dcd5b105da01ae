// Records as lines of a CSV table.
#include <nlohmann/json.hpp>

#include "base/csv.hpp"
#include "core/record/kbench_metric.hpp"
#include "core/record/record_json.hpp"
#include "core/store/export.hpp"
#include "core/store/measurements.hpp"

namespace xtune::store {
namespace {

using CsvRow = nlohmann::ordered_json;

template <class T>
CsvRow known(const std::optional<T>& value) {
  return value ? CsvRow(*value) : CsvRow();
}
CsvRow known(double value) { return value != 0 ? CsvRow(value) : CsvRow(); }

CsvRow csv_row(const record::Record& record) {
  const bool timed = record.time_ms.count > 0;
  const auto time = [&](double ms) { return timed ? CsvRow(ms) : CsvRow(); };
  CsvRow json{{"kernel", record.kernel},
              {"backend", record.device.backend},
              {"arch", record.device.arch},
              {"device", record.device.name}};
  json["problem"] = bindings_json(record.problem);
  json["config"] = bindings_json(record.config);
  json.update(CsvRow{{"outcome", to_string(record.outcome)},
                     {"median_ms", time(record.time_ms.median)},
                     {"low_ms", time(record.time_ms.low)},
                     {"high_ms", time(record.time_ms.high)},
                     {"min_ms", time(record.time_ms.min)},
                     {"mean_ms", time(record.time_ms.mean)},
                     {"max_ms", time(record.time_ms.max)},
                     {"samples", record.time_ms.count},
                     {"stage", record.stage},
                     {"message", record.message},
                     {"registers", known(record.usage.registers)},
                     {"spilled_bytes", known(record.usage.spilled_bytes)},
                     {"static_shared_bytes", known(record.usage.static_shared_bytes)},
                     {"dynamic_shared_bytes", record.dynamic_shared_bytes},
                     {"compile_s", record.compile_s},
                     {"bench_s", record.bench_s},
                     {"clock_mhz", known(record.telemetry.clock_mhz)},
                     {"temperature_c", known(record.telemetry.temperature_c)},
                     {"power_w", known(record.telemetry.power_w)},
                     {"energy_j", known(record.telemetry.energy_j)},
                     {"tainted", record.tainted.empty() ? CsvRow() : CsvRow(record.tainted)},
                     {"drift", record.drift},
                     {"finals", record.finals},
                     {"unix_time_ms", record.unix_time_ms},
                     {"host", record.host},
                     {"attempt", record.attempt},
                     {"toolchain", record.toolchain},
                     {"driver", record.device.driver},
                     {"key", record.key}});
  return json;
}

/// A line of kbench's output.csv. Its column spec is "gemm/M=64/BLOCK=128".
CsvRow kbench_row(const record::Record& record) {
  std::string spec = record.kernel;
  for (const Bindings* const bindings : {&record.problem, &record.config})
    for (const auto& [name, value] : *bindings) spec += "/" + name + "=" + to_text(value);
  CsvRow row{{"name", record.kernel}, {"met (ms)", record.time_ms.median}, {"iters", record.time_ms.count}};
  for (const auto& [metric, values] : record.reported)
    row[record::kbench_column(metric)] = values.empty() ? CsvRow() : CsvRow(measure::summarize(values).median);
  row["spec"] = spec;
  return row;
}

}  // namespace

std::string export_csv(const std::vector<StoredMeasurements>& measurements) {
  std::vector<CsvRow> rows;
  for (const StoredMeasurements& part : measurements)
    for (const record::Record& record : part.records) rows.push_back(csv_row(record));
  return base::csv_text(rows);
}

std::string export_kbench(const std::vector<StoredMeasurements>& measurements) {
  std::vector<CsvRow> rows;
  for (const StoredMeasurements& part : measurements)
    for (const record::Record& record : part.records)
      if (record.outcome == Outcome::ok && record.finals.empty()) rows.push_back(kbench_row(record));
  return base::csv_text(rows);
}

}  // namespace xtune::store
