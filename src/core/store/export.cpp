// What is exported: the winners, measured cases for trees, and records as a table.
#include "core/store/export.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
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

/// Finds the valid configurations of one problem on one kind of device, judged by the newest one that passed: with its
/// driver, its sources and its validation, and whose own newest measurement of these sources did not fail. A
/// configuration that was faster with an earlier driver may not be with this one, and an earlier source, or results
/// that were not compared, may be wrong. Later tries of which nothing passed say nothing about it.
class Judge {
 public:
  Judge(const std::filesystem::path& store, const StoreView& view, ConfigOrder rows)
      : store_(store), view_(view), rows_(std::move(rows)) {
    for (const StoredConfig* row : rows_) {
      if (!is_verdict(ConfigAccess::facts(row))) continue;
      by_config_[config_text(*row)].push_back(row);
      if (row->outcome != Outcome::ok) continue;
      passed_.insert(row->artifact_key);
      if (!newest_ || is_newer(row, newest_)) newest_ = row;
    }
    if (!newest_) return;
    const Record record = view.record_of(*newest_);
    judged_by_ = judged_by(record);
    sources_ = build::stored_sources(store, record.artifact_key);
    for (auto& [config, own] : by_config_) std::sort(own.begin(), own.end(), is_newer);
  }

  /// The first `most` of them, best first; order: the rows that passed.
  std::vector<Valid> valid(const ConfigOrder& order, std::size_t most) {
    std::vector<Valid> valid;
    for (const StoredConfig* config : order) {
      if (valid.size() == most || !newest_) break;
      if (!is_of_version(*config) || has_failed_since(*config)) continue;
      if (!same_driver(view_.device_of(*config), view_.device_of(*newest_))) continue;
      Record record = view_.record_of(*config);
      if (judged_by(record) == judged_by_) valid.push_back({config, std::move(record), config->median_ms});
    }
    if (valid.size() < 2) return valid;
    std::unordered_map<const StoredConfig*, double> times_ms;
    for (const auto& [config, time_ms] : configs_on_one_scale(rows_, measure::Statistic::median))
      times_ms.emplace(config, time_ms);
    for (Valid& one : valid) one.time_ms = times_ms.at(one.row);
    return valid;
  }

 private:
  /// Whether it was built of the newest one's sources. Without an artifact, as after a failed compile, that is unknown:
  /// then only a failure of an artifact that passed before counts.
  bool is_of_version(const StoredConfig& row) {
    const auto [fit, is_new] = fits_.try_emplace(row.artifact_key);
    if (!is_new) return fit->second;
    const build::ArtifactSources own = build::stored_sources(store_, view_.record_of(row).artifact_key);
    const bool is_known = own.source || !own.files.empty() || row.outcome == Outcome::ok;
    return fit->second = is_known ? build::same_sources(own, sources_) : passed_.contains(row.artifact_key);
  }
  bool has_failed_since(const StoredConfig& config) {
    const std::vector<const StoredConfig*>& own = by_config_.at(config_text(config));
    const auto newest = std::find_if(own.begin(), own.end(), [&](const auto* row) { return is_of_version(*row); });
    return newest != own.end() && (*newest)->outcome != Outcome::ok;
  }

  const std::filesystem::path& store_;
  const StoreView& view_;
  const ConfigOrder rows_;
  const StoredConfig* newest_ = nullptr;
  std::vector<std::string> judged_by_;
  build::ArtifactSources sources_;
  std::unordered_map<std::string, std::vector<const StoredConfig*>> by_config_;  ///< newest first
  std::unordered_set<KeyDigest, KeyDigestHash> passed_;                          ///< artifacts
  std::unordered_map<KeyDigest, bool, KeyDigestHash> fits_;  ///< by artifact, which configurations may share
};

std::vector<Valid> valid_configs(const std::filesystem::path& store, const StoreView& view,
                                 const StoreView::Group& group, std::size_t most, const WinnerFilter& filter) {
  ConfigOrder rows = view.members(group);
  if (!filter.is_present) return Judge(store, view, std::move(rows)).valid(view.order(group), most);
  std::erase_if(rows, [&](const StoredConfig* row) { return !filter.is_present(view.record_of(*row)); });
  const ConfigOrder order = rank_configs(rows, {});
  return Judge(store, view, std::move(rows)).valid(order, most);
}

/// A spec of which nothing is stored as it is now is an error that says how to find out why.
void require_present(const WinnerFilter& filter, std::uint64_t records, bool any) {
  if (filter.is_present && records > 0 && !any)
    throw Error(ErrorKind::nothing_valid,
                fmt::format("the store has {} record{} of this kernel, and none of the spec as it is now; `xtune why "
                            "SPEC` shows what differs, and `xtune run SPEC` measures again",
                            records, records == 1 ? "" : "s"));
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
      std::vector<Valid> valid = valid_configs(store, view, group, wanted ? most : 1, filter);
      if (valid.empty()) continue;
      for (const auto& [name, value] : problem) sizes.insert(name);
      if (!wanted) continue;
      any = true;
      visit(std::move(valid), sources);
    }
  }
  if (records == 0) found.require_something(store, warnings);
  require_present(filter, records, !sizes.empty() || any);
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
                               std::vector<std::string>& warnings, std::size_t most) {
  std::vector<Winner> winners;
  each_problem(store, filter, most, warnings, [&](std::vector<Valid> valid, const std::vector<RecordSource>& sources) {
    const StoredConfig& best = *valid.front().row;
    Winner& winner = winners.emplace_back();
    winner.line = system::read_file_part(sources[best.block->file].path, best.offset(), best.bytes);
    for (const Valid& one : valid) {
      winner.times_ms.emplace_back(one.record.config, one.time_ms);
      winner.newest_unix_ms = std::max(winner.newest_unix_ms, one.record.unix_time_ms);
    }
    winner.record = std::move(valid.front().record);
    winner.arch = winner.record.device.arch;
    winner.kernel = winner.record.kernel;
  });
  const auto rank = [](const Winner& winner) {
    return std::tuple(winner.kernel, winner.arch, space::bindings_text(winner.record.problem),
                      winner.record.device.name, winner.record.device.compute_units, winner.record.device.backend,
                      winner.line);
  };
  std::sort(winners.begin(), winners.end(), [&](const Winner& a, const Winner& b) { return rank(a) < rank(b); });
  return winners;
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
        if (filter.takes(record)) one.records.push_back(std::move(record));
      }
    }
    if (one.records.empty()) continue;
    std::stable_sort(one.records.begin(), one.records.end(), is_earlier);
    one.kernel = one.records.front().kernel;
    one.arch = one.records.front().device.arch;
    all.push_back(std::move(one));
  }
  if (records == 0) found.require_something(store, warnings);
  require_present(filter, records, filter.problem.empty() ? !all.empty() : true);
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

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string title(const Record& record) {
  return fmt::format("{} on {} ({}), {}", record.kernel, record.device.arch, record.device.name,
                     space::shown_text(record.problem));
}

bool same_names(const Bindings& a, const Bindings& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

using TreeGroup = std::vector<const Winner*>;

/// Those with the names of the newest case of their kernel, by kernel and architecture.
std::map<std::pair<std::string, std::string>, TreeGroup> alike_groups(const std::vector<Winner>& cases,
                                                                      std::vector<std::string>& warnings) {
  std::map<std::string, const Winner*> newest;
  for (const Winner& one : cases) {
    const Winner*& known = newest[one.kernel];
    if (!known || one.newest_unix_ms > known->newest_unix_ms) known = &one;
  }
  std::map<std::pair<std::string, std::string>, TreeGroup> groups;
  std::map<std::string, std::size_t> skipped;
  for (const Winner& one : cases) {
    const Winner& like = *newest[one.kernel];
    const bool fits = same_names(one.record.problem, like.record.problem) &&
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
  for (const Winner* one : group)
    for (const auto& [config, time_ms] : one->times_ms)
      if (const auto [place, is_new] = numbers.emplace(config, numbers.size()); is_new)
        configs.push_back(&place->first);
  std::vector<std::vector<double>> times_ms, ratios;
  for (const Winner* one : group) {
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
    json["cases"].push_back({{"problem", bindings_json(group[i]->record.problem)},
                             {"device", group[i]->record.device.name},
                             {"best", bindings_json(best)},
                             {"best_ms", best_ms},
                             {"times_ms", times}});
  }
  return json;
}

}  // namespace

OrderedJson tree_groups(const std::vector<Winner>& cases, std::size_t max_configs, double within,
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
    for (std::size_t i = 1; i < winner.times_ms.size(); ++i)
      list.back()["others"].push_back(bindings_json(winner.times_ms[i].first));
  }
  return list;
}

std::vector<Record> records_of_task(const std::filesystem::path& store, const WinnerFilter& filter,
                                    std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<Record>> tasks;
  std::set<std::pair<std::string, std::string>> read;
  // A problem of which all measurements failed has no winner.
  for (const Winner& winner : winners_of(store, {filter.archs, filter.kernels, {}}, warnings)) {
    if (!read.emplace(winner.arch, winner.kernel).second) continue;
    for (Record& record : read_records(store, winner.arch, winner.kernel).records) {
      if (!record.drift && !is_sanitized(record) && filter.takes(record))
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
  return std::move(tasks.begin()->second);
}

}  // namespace xtune::store
