// Records as lines of a CSV table.
#include <map>
#include <nlohmann/json.hpp>

#include "base/csv.hpp"
#include "core/record/best.hpp"
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

/// scale: what its times were multiplied by.
CsvRow csv_row(const record::Record& record, double scale) {
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
                     {"scale", timed ? CsvRow(scale) : CsvRow()},
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

/// The column that kbench's tables have for a metric of this name; the name itself if kbench does not know it.
std::string kbench_column(const std::string& metric) {
  for (const std::string_view column :
       {"throughput (GElems/s)", "DataMovement (GB/s)", "Arithmetic (GFLOPS/s)", "TheoreticalArithmetic (GFLOPS/s)"})
    if (column.substr(0, column.find(' ')) == metric) return std::string(column);
  return metric;
}

/// A line of kbench's output.csv. Its column spec is "gemm/M=64/BLOCK=128".
CsvRow kbench_row(const record::Record& record) {
  std::string spec = record.kernel;
  for (const Bindings* const bindings : {&record.problem, &record.config})
    for (const auto& [name, value] : *bindings) spec += "/" + name + "=" + to_text(value);
  CsvRow row{{"name", record.kernel}, {"met (ms)", record.time_ms.median}, {"iters", record.time_ms.count}};
  for (const auto& [metric, values] : record.reported)
    row[kbench_column(metric)] = values.empty() ? CsvRow() : CsvRow(measure::summarize(values).median);
  row["spec"] = spec;
  return row;
}

}  // namespace

std::string export_csv(std::vector<StoredMeasurements> measurements) {
  std::vector<CsvRow> rows;
  for (StoredMeasurements& part : measurements) {
    std::map<std::string, std::vector<record::Record*>> groups;
    for (record::Record& record : part.records)
      if (!record::is_sanitized(record)) groups[group_of(record)].push_back(&record);
    std::map<const record::Record*, double> scales;
    for (const auto& [name, records] : groups) {
      const record::Standings standings(std::vector<const record::Record*>(records.begin(), records.end()));
      for (const record::Record* record : records) scales[record] = standings.factor(*record) / record->slowness;
      record::put_on_one_scale(records, standings);
    }
    for (const record::Record& record : part.records) {
      const auto scale = scales.find(&record);
      rows.push_back(csv_row(record, scale == scales.end() ? 1 / record.slowness : scale->second));
    }
  }
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
