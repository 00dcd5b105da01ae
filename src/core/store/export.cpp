// Exports as JSON: the winners, measured cases for trees, and Kernel Tuner's results.
#include "core/store/export.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/csv.hpp"
#include "base/text.hpp"
#include "core/record/best.hpp"
#include "core/record/record.hpp"
#include "core/record/record_log.hpp"
#include "core/space/value.hpp"
#include "core/store/cover.hpp"
#include "core/store/layout.hpp"
#include "core/store/measurements.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// Records as lines of a CSV table.

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

namespace {

using OrderedJson = nlohmann::ordered_json;

// By the enumeration of the T4 schema.
const char* invalidity_of(const record::Record& record) {
  switch (record.outcome) {
    case Outcome::ok:
    case Outcome::pruned:
      return "correct";
    case Outcome::rejected:
      return "constraints";
    case Outcome::compile_failed:
      return "compile";
    case Outcome::wrong_result:
      return "correctness";
    case Outcome::timed_out:
      return "timeout";
    case Outcome::launch_failed:
    case Outcome::crashed:
      return record.stage == "compile" ? "compile" : "runtime";
  }
  return "runtime";
}

OrderedJson t4_result(const record::Record& record) {
  OrderedJson samples = OrderedJson::array();
  for (const double sample : record.samples_ms) samples.push_back(sample);
  OrderedJson measurements = OrderedJson::array();
  if (record.outcome == Outcome::ok)
    measurements.push_back({{"name", "time"}, {"value", record.time_ms.median}, {"unit", "ms"}});
  const auto seconds = static_cast<std::time_t>(record.unix_time_ms / 1000);
  return {{"timestamp", fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", fmt::gmtime(seconds))},
          {"configuration", bindings_json(record.config)},
          {"objectives", {"time"}},
          {"times",
           {{"compilation_time", record.compile_s * 1e3},
            {"framework", 0},
            {"search_algorithm", 0},
            {"validation", 0},
            {"runtimes", samples}}},
          {"invalidity", invalidity_of(record)},
          {"correctness", record.outcome == Outcome::ok || record.outcome == Outcome::pruned ? 1 : 0},
          {"measurements", measurements}};
}

std::string title(const record::Record& record) {
  return fmt::format("{} on {} ({}), {}", record.kernel, record.device.arch, record.device.name,
                     space::shown_text(record.problem));
}

bool same_names(const Bindings& a, const Bindings& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

using TreeGroup = std::vector<const MeasuredCase*>;

/// Those with the names of the newest case of their kernel, by kernel and architecture.
std::map<std::pair<std::string, std::string>, TreeGroup> alike_groups(const std::vector<MeasuredCase>& cases,
                                                                      std::vector<std::string>& warnings) {
  std::map<std::string, const MeasuredCase*> newest;
  for (const MeasuredCase& one : cases) {
    const MeasuredCase*& known = newest[one.kernel];
    if (!known || one.newest_unix_ms > known->newest_unix_ms) known = &one;
  }
  std::map<std::pair<std::string, std::string>, TreeGroup> groups;
  std::map<std::string, std::size_t> skipped;
  for (const MeasuredCase& one : cases) {
    const MeasuredCase& like = *newest[one.kernel];
    const bool fits = same_names(one.problem, like.problem) &&
                      std::all_of(one.times_ms.begin(), one.times_ms.end(), [&](const auto& time) {
                        return same_names(time.first, like.times_ms.front().first);
                      });
    if (fits)
      groups[{one.kernel, one.arch}].push_back(&one);
    else
      ++skipped[one.kernel];
  }
  for (const auto& [kernel, count] : skipped)
    warnings.push_back(fmt::format("{}: {} cases skipped: their parameters or dimensions differ from the newest's",
                                   base::printable(kernel, 80), count));
  return groups;
}

OrderedJson group_json(const TreeGroup& group, std::size_t max_configs, double within) {
  constexpr double not_measured = std::numeric_limits<double>::infinity();
  std::vector<const Bindings*> configs;  // by their first appearance
  std::map<Bindings, std::size_t> numbers;
  for (const MeasuredCase* one : group)
    for (const auto& [config, time_ms] : one->times_ms)
      if (const auto [place, is_new] = numbers.emplace(config, numbers.size()); is_new)
        configs.push_back(&place->first);
  std::vector<std::vector<double>> times_ms, ratios;
  for (const MeasuredCase* one : group) {
    std::vector<double>& row = times_ms.emplace_back(numbers.size(), not_measured);
    for (const auto& [config, time_ms] : one->times_ms) {
      double& known = row[numbers.at(config)];
      known = std::min(known, time_ms);
    }
    std::vector<double>& of_best = ratios.emplace_back();
    for (const double time : row) of_best.push_back(std::max(time / one->times_ms.front().second, 1.0));
  }
  const Cover cover = smallest_cover(ratios, 1 + within, max_configs, Preference::measured);
  OrderedJson json{{"kernel", group.front()->kernel}, {"arch", group.front()->arch}};
  for (const char* list : {"configs", "cases"}) json[list] = OrderedJson::array();
  for (const std::size_t config : cover.configs) json["configs"].push_back(bindings_json(*configs[config]));
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto& [best, best_ms] = group[i]->times_ms.front();
    OrderedJson times = OrderedJson::array();  // an infinite one is null in JSON
    for (const std::size_t config : cover.configs) times.push_back(times_ms[i][config]);
    json["cases"].push_back({{"problem", bindings_json(group[i]->problem)},
                             {"device", group[i]->device},
                             {"best", bindings_json(best)},
                             {"best_ms", best_ms},
                             {"times_ms", times}});
  }
  return json;
}

}  // namespace

OrderedJson tree_groups(const std::vector<MeasuredCase>& cases, std::size_t max_configs, double within,
                        std::vector<std::string>& warnings) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [name, group] : alike_groups(cases, warnings))
    list.push_back(group_json(group, max_configs, within));
  return list;
}

OrderedJson export_json(const std::vector<Winner>& winners) {
  OrderedJson list = OrderedJson::array();
  for (const Winner& winner : winners) {
    const record::Record& record = winner.record;
    list.push_back({{"kernel", winner.kernel},
                    {"arch", winner.arch},
                    {"problem", bindings_json(record.problem)},
                    {"config", bindings_json(record.config)},
                    {"time_ms", record.time_ms.median},
                    {"interval_ms", {record.time_ms.low, record.time_ms.high}},
                    {"device", record.device.name},
                    {"backend", record.device.backend},
                    {"driver", record.device.driver},
                    {"tainted", record.tainted},
                    {"artifact_key", record.artifact_key},
                    {"key", record.key},
                    {"unix_time_ms", record.unix_time_ms}});
  }
  return list;
}

OrderedJson export_kernel_tuner(const std::filesystem::path& store, const WinnerFilter& filter,
                                std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<record::Record>> tasks;
  std::set<std::pair<std::string, std::string>> read;
  // A problem of which all measurements failed has no winner.
  for (const Winner& winner : winners_of(store, {filter.archs, filter.kernels, {}}, warnings)) {
    if (!read.emplace(winner.arch, winner.kernel).second) continue;
    for (record::Record& record : record::read_records(store, winner.arch, winner.kernel).records) {
      if (!record.drift && !record::is_sanitized(record) && filter.takes(record.problem))
        tasks[title(record)].push_back(std::move(record));
    }
  }
  if (tasks.empty()) throw Error(ErrorKind::nothing_valid, "the store has no measurements of that");
  if (tasks.size() > 1) {
    std::string choice;
    for (const auto& [name, records] : tasks) choice += "\n  " + base::printable(name, 200);
    throw Error(
        ErrorKind::invalid_argument,
        "a T4 results file is of one kernel, device and problem; say --kernel, --arch and -D for one of:" + choice);
  }
  OrderedJson results = OrderedJson::array();
  for (const record::Record& record : tasks.begin()->second) results.push_back(t4_result(record));
  return {{"schema_version", "1.0.0"}, {"results", results}};
}

}  // namespace xtune::store
