// Exports as JSON: the winners, measured cases for trees, and Kernel Tuner's results.
#include "core/store/export.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/csv.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/space/value.hpp"
#include "core/store/best.hpp"
#include "core/store/cover.hpp"
#include "core/store/layout.hpp"
#include "core/store/record.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// The winners of a store, for bundles and exports.

namespace {

bool is_newer(const StoredConfig* a, const StoredConfig* b) {
  return std::tie(a->unix_time_ms, a->key) > std::tie(b->unix_time_ms, b->key);
}

/// The data with which results were validated, of which arguments, and whether the caches were warm.
std::vector<std::string> judged_by(const Record& record) {
  std::vector<std::string> parts{protocol_setting(record.key_parts, "flush"),
                                 protocol_setting(record.key_parts, "launch")};
  for (const auto& [name, value] : record.key_parts)
    if (name == "reference" || name == "tolerance" || name == "buffers") parts.push_back(name + value);
  return parts;
}

/// A valid configuration with its whole record.
struct Valid {
  const StoredConfig* row;
  Record record;
  double time_ms = 0;  ///< on the scale of the best one's
};

/// The valid configurations, best first, judged by the newest measurements: with the driver, the sources and the
/// validation of the newest one of all, and whose own newest measurement did not fail. A configuration that was faster
/// with an earlier driver may not be with this one, and an earlier source, or results that were not compared, may be
/// wrong. Ends after `most` of them.
std::vector<Valid> valid_configs(const std::filesystem::path& store, const StoreView& view,
                                 const StoreView::Group& group, std::size_t most) {
  std::vector<Valid> valid;
  const StoredConfig* newest = nullptr;
  std::unordered_map<std::string, const StoredConfig*> newest_of_config;
  for (const StoredConfig* row : view.members(group)) {
    if (!is_verdict(ConfigAccess::facts(row))) continue;
    if (!newest || is_newer(row, newest)) newest = row;
    const StoredConfig*& own = newest_of_config[config_text(*row)];
    if (!own || is_newer(row, own)) own = row;
  }
  if (!newest) return valid;
  const Record newest_record = view.record_of(*newest);
  const std::vector<std::string> judge = judged_by(newest_record);
  const build::ArtifactSources sources = build::stored_sources(store, newest_record.artifact_key);
  std::map<std::string, bool> fits;  // by artifact, which configurations may share
  for (const StoredConfig* config : view.order(group)) {
    if (valid.size() == most) break;
    const StoredConfig* const own = newest_of_config[config_text(*config)];
    if (own && own->outcome != Outcome::ok) continue;
    if (!same_driver(view.device_of(*config), view.device_of(*newest))) continue;
    Record record = view.record_of(*config);
    if (judged_by(record) != judge) continue;
    const auto [fit, is_new] = fits.try_emplace(record.artifact_key);
    if (is_new) fit->second = build::same_sources(build::stored_sources(store, record.artifact_key), sources);
    if (fit->second) valid.push_back({config, std::move(record), config->median_ms});
  }
  if (valid.size() < 2) return valid;
  std::unordered_map<const StoredConfig*, double> times_ms;
  for (const auto& [config, time_ms] : configs_on_one_scale(view.members(group), measure::Statistic::median))
    times_ms.emplace(config, time_ms);
  for (Valid& one : valid) one.time_ms = times_ms.at(one.row);
  return valid;
}

/// Calls visit(valid configurations, files of the view) for each kernel, architecture, problem and kind of device that
/// the filter selects and that has one. Throws as winners_of.
template <class Visit>
void each_problem(const std::filesystem::path& store, const WinnerFilter& filter, std::size_t most,
                  std::vector<std::string>& warnings, const Visit& visit) {
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  bool any = false;
  for (auto& [part, sources] : found.parts) {
    const StoreView view = StoreView::load(sources);
    warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
    found.unreadable += view.row_set().unreadable;
    records += view.records();
    view.rank_all();
    for (const StoreView::Group& group : view.groups()) {
      const Bindings& problem = view.problem_of(*view.order(group).front());
      const bool wanted = filter.takes(problem);
      std::vector<Valid> valid = valid_configs(store, view, group, wanted ? most : 1);
      if (valid.empty()) continue;
      for (const auto& [name, value] : problem) sizes.insert(name);
      if (!wanted) continue;
      any = true;
      visit(std::move(valid), sources);
    }
  }
  if (records == 0) found.require_something(store, warnings);
  require_problem(filter, sizes, any);
}

}  // namespace

bool WinnerFilter::takes(const Bindings& sizes) const {
  return std::all_of(problem.begin(), problem.end(), [&](const auto& asked) {
    const auto size = sizes.find(asked.first);
    return size != sizes.end() && to_text(size->second) == asked.second;
  });
}

std::vector<Winner> winners_of(const std::filesystem::path& store, const WinnerFilter& filter,
                               std::vector<std::string>& warnings) {
  std::vector<Winner> winners;
  each_problem(store, filter, 1, warnings, [&](std::vector<Valid> valid, const std::vector<RecordSource>& sources) {
    const StoredConfig& best = *valid.front().row;
    Record& record = valid.front().record;
    std::string line = system::read_file_part(sources[best.block->file].path, best.offset(), best.bytes);
    winners.push_back({record.device.arch, record.kernel, std::move(record), std::move(line)});
  });
  const auto rank = [](const Winner& winner) {
    return std::tuple(winner.kernel, winner.arch, space::bindings_text(winner.record.problem),
                      winner.record.device.name, winner.record.device.compute_units, winner.record.device.backend,
                      winner.line);
  };
  std::sort(winners.begin(), winners.end(), [&](const Winner& a, const Winner& b) { return rank(a) < rank(b); });
  return winners;
}

std::vector<MeasuredCase> measured_cases(const std::filesystem::path& store, const WinnerFilter& filter,
                                         std::vector<std::string>& warnings) {
  std::vector<MeasuredCase> cases;
  each_problem(store, filter, SIZE_MAX, warnings,
               [&](const std::vector<Valid>& valid, const std::vector<RecordSource>&) {
                 const Record& best = valid.front().record;
                 MeasuredCase one{best.kernel, best.device.arch, best.device.name, best.problem, {}, 0};
                 for (const Valid& config : valid) {
                   one.times_ms.emplace_back(config.record.config, config.time_ms);
                   one.newest_unix_ms = std::max(one.newest_unix_ms, config.record.unix_time_ms);
                 }
                 cases.push_back(std::move(one));
               });
  const auto rank = [](const MeasuredCase& one) {
    return std::tuple(one.kernel, one.arch, space::bindings_text(one.problem), one.device);
  };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const MeasuredCase& a, const MeasuredCase& b) { return rank(a) < rank(b); });
  return cases;
}

Error no_answers() {
  return {ErrorKind::nothing_valid, "the store has no configuration that may answer; `xtune run` makes some"};
}

namespace {

bool wanted(const std::vector<std::string>& names, const std::string& component) {
  return names.empty() || std::any_of(names.begin(), names.end(),
                                      [&](const std::string& name) { return path_component(name) == component; });
}

void require_all(const std::vector<std::string>& names, const std::set<std::string>& found, const char* what,
                 const std::filesystem::path& store) {
  for (const std::string& name : names)
    if (!found.contains(path_component(name))) {
      std::vector<std::string> known;
      for (const std::string& component : found) known.push_back(name_of_component(component).value_or(component));
      throw Error(ErrorKind::invalid_argument, "the store " + base::printable(store.string()) +
                                                   " has no records of the " + what + " '" + base::printable(name, 80) +
                                                   "'" + base::did_you_mean(name, known) +
                                                   "; `xtune store ls` lists what it has");
    }
}

constexpr std::uint64_t any_size = UINT64_MAX;

}  // namespace

void FilteredParts::require_something(const std::filesystem::path& store,
                                      const std::vector<std::string>& warnings) const {
  if (unreadable > 0)
    throw Error(ErrorKind::io, "nothing of the store " + base::printable(store.string()) +
                                   " that is asked for could be read: " + warnings.front());
}

FilteredParts filtered_parts(const std::filesystem::path& store, const WinnerFilter& filter,
                             std::vector<std::string>& warnings) {
  require_store(store);
  const StoreLayout layout = layout_of(store);
  for (const Unreadable& one : layout.unreadable) warnings.push_back(one.text());
  FilteredParts found;
  found.unreadable = layout.unreadable_records;
  std::set<std::string> archs, kernels;
  for (const RecordFile& file : layout.records) {
    archs.insert(file.arch);
    kernels.insert(file.kernel);
    if (wanted(filter.archs, file.arch) && wanted(filter.kernels, file.kernel))
      found.parts[{file.kernel, file.arch}].push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  }
  if (found.parts.empty()) found.require_something(store, warnings);
  require_all(filter.archs, archs, "architecture", store);
  require_all(filter.kernels, kernels, "kernel", store);
  return found;
}

void require_problem(const WinnerFilter& filter, const std::set<std::string>& sizes, bool found) {
  for (const auto& [name, value] : filter.problem)
    if (!sizes.contains(name))
      throw Error(ErrorKind::invalid_argument, "-D " + base::printable(name, 80) + "=" + base::printable(value, 80) +
                                                   ": no stored problem has such a size" +
                                                   base::did_you_mean(name, {sizes.begin(), sizes.end()}));
  if (!filter.problem.empty() && !found)
    throw Error(
        ErrorKind::nothing_valid,
        "the store has no winner of the problem that -D asks for; `xtune store export` without -D lists all of them");
}

std::vector<StoredMeasurements> measurements_of(const std::filesystem::path& store, const WinnerFilter& filter,
                                                std::vector<std::string>& warnings) {
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::vector<StoredMeasurements> all;
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  for (const auto& [part, sources] : found.parts) {
    StoredMeasurements one;
    for (const RecordSource& source : sources) {
      RecordSet set;
      try {
        set = parse_records(source.name, system::read_file(source.path, any_size));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::io) throw;
        warnings.emplace_back(error.what());
        ++found.unreadable;
      }
      warnings.insert(warnings.end(), set.warnings.begin(), set.warnings.end());
      records += set.records.size();
      for (Record& record : set.records) {
        for (const auto& [name, value] : record.problem) sizes.insert(name);
        if (filter.takes(record.problem)) one.records.push_back(std::move(record));
      }
    }
    if (one.records.empty()) continue;
    std::stable_sort(one.records.begin(), one.records.end(), is_earlier);
    one.kernel = one.records.front().kernel;
    one.arch = one.records.front().device.arch;
    all.push_back(std::move(one));
  }
  if (records == 0) found.require_something(store, warnings);
  require_problem(filter, sizes, !all.empty());
  return all;
}

std::string group_of(const Record& record) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", record.kernel, space::bindings_text(record.problem),
                     record.device.backend, record.device.arch, record.device.name, record.device.compute_units);
}

// Records as lines of a CSV table.

namespace {

using CsvRow = nlohmann::ordered_json;

template <class T>
CsvRow known(const std::optional<T>& value) {
  return value ? CsvRow(*value) : CsvRow();
}
CsvRow known(double value) { return value != 0 ? CsvRow(value) : CsvRow(); }

/// scale: what its times were multiplied by.
CsvRow csv_row(const Record& record, double scale) {
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
CsvRow kbench_row(const Record& record) {
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
    std::map<std::string, std::vector<Record*>> groups;
    for (Record& record : part.records)
      if (!is_sanitized(record)) groups[group_of(record)].push_back(&record);
    std::map<const Record*, double> scales;
    for (const auto& [name, records] : groups) {
      const Standings standings(std::vector<const Record*>(records.begin(), records.end()));
      for (const Record* record : records) scales[record] = standings.factor(*record) / record->slowness;
      put_on_one_scale(records, standings);
    }
    for (const Record& record : part.records) {
      const auto scale = scales.find(&record);
      rows.push_back(csv_row(record, scale == scales.end() ? 1 / record.slowness : scale->second));
    }
  }
  return base::csv_text(rows);
}

std::string export_kbench(const std::vector<StoredMeasurements>& measurements) {
  std::vector<CsvRow> rows;
  for (const StoredMeasurements& part : measurements)
    for (const Record& record : part.records)
      if (record.outcome == Outcome::ok && record.finals.empty()) rows.push_back(kbench_row(record));
  return base::csv_text(rows);
}

namespace {

using OrderedJson = nlohmann::ordered_json;

// By the enumeration of the T4 schema.
const char* invalidity_of(const Record& record) {
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

OrderedJson t4_result(const Record& record) {
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

std::string title(const Record& record) {
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
    const Record& record = winner.record;
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
  std::map<std::string, std::vector<Record>> tasks;
  std::set<std::pair<std::string, std::string>> read;
  // A problem of which all measurements failed has no winner.
  for (const Winner& winner : winners_of(store, {filter.archs, filter.kernels, {}}, warnings)) {
    if (!read.emplace(winner.arch, winner.kernel).second) continue;
    for (Record& record : read_records(store, winner.arch, winner.kernel).records) {
      if (!record.drift && !is_sanitized(record) && filter.takes(record.problem))
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
  for (const Record& record : tasks.begin()->second) results.push_back(t4_result(record));
  return {{"schema_version", "1.0.0"}, {"results", results}};
}

}  // namespace xtune::store
