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
#include "core/store/lookup.hpp"
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

/// The data with which results were validated, of which arguments, whether the caches were warm, and what was timed.
std::vector<std::string> judged_by(const Record& record) {
  std::vector<std::string> parts{protocol_setting(record.key_parts, "flush"),
                                 protocol_setting(record.key_parts, "launch")};
  for (const auto& [name, value] : record.key_parts)
    if (name == "reference" || name == "tolerance" || name == "buffers" || name == "zeroing")
      parts.push_back(name + value);
  return parts;
}

/// Whether it is a statistic of the time, and nothing else. objective: Criterion::finals_by.
bool is_of_time(const std::string& objective) {
  const auto names = [&](measure::Statistic by) { return objective == std::string(to_string(by)) + " time_ms"; };
  return objective.empty() || names(measure::Statistic::min) || names(measure::Statistic::mean) ||
         names(measure::Statistic::inlier_mean);
}

/// Finds the valid configurations of one problem on one kind of device, judged by the newest one that passed: with its
/// driver, its sources and its validation, and whose own newest measurement of these sources did not fail. A
/// configuration that was faster with an earlier driver may not be with this one, and an earlier source, or results
/// that were not compared, may be wrong. Later tries of which nothing passed say nothing about it.
class Judge {
 public:
  Judge(const std::filesystem::path& store, const StoreView& view, const ConfigOrder& rows)
      : store_(store), view_(view), rows_(rows) {
    std::unordered_set<KeyDigest, KeyDigestHash> failed;
    for (const StoredConfig* row : rows_) {
      if (!is_verdict(ConfigAccess::facts(row))) continue;
      if (row->outcome != Outcome::ok)
        failed_[encoded(*row)], failed.insert(row->artifact_key);
      else if (!newest_ || is_newer(row, newest_))
        newest_ = row;
    }
    if (!newest_) return;
    const Record record = read_record(*newest_);
    judged_by_ = judged_by(record);
    sources_ = sources_of(store, record);
    if (failed_.empty()) return;
    for (const StoredConfig* row : rows_) {
      if (!is_verdict(ConfigAccess::facts(row))) continue;
      if (row->outcome == Outcome::ok && failed.contains(row->artifact_key)) passed_.insert(row->artifact_key);
      if (const auto own = failed_.find(encoded(*row)); own != failed_.end()) own->second.push_back(row);
    }
    for (auto& [config, own] : failed_) std::sort(own.begin(), own.end(), is_newer);
  }

  /// The first `most` of them, best first.
  std::vector<ValidConfig> valid(const WinnerFilter& filter, std::size_t most) {
    std::vector<ValidConfig> valid;
    if (!newest_) return valid;
    const Criterion criterion = filter.criterion_for(read_record(*newest_));
    const std::string objective = criterion.finals_by();
    for (const StoredConfig* config : rank_configs(rows_, criterion)) {
      if (valid.size() == most) break;
      if (!is_of_version(*config) || has_failed_since(*config)) continue;
      if (!same_driver(config->device(), newest_->device())) continue;
      Record record = read_record(*config);
      if (judged_by(record) != judged_by_) continue;
      const double time_ms = is_of_time(objective) ? criterion.of(record) : config->median_ms;
      valid.push_back({config, std::move(record), time_ms, objective});
    }
    if (valid.size() < 2) return valid;
    const auto factors = scale_factors(rows_);
    for (ValidConfig& one : valid) one.time_ms *= factors.at(one.row);
    return valid;
  }

 private:
  /// Whether it was built of the newest one's sources. Without an artifact, as after a failed compile, that is unknown:
  /// then only a failure of an artifact that passed before counts.
  bool is_of_version(const StoredConfig& row) {
    const auto [fit, is_new] = fits_.try_emplace(row.artifact_key);
    if (!is_new && sources_.source) return fit->second;  // the calls of a program have their own files
    const build::ArtifactSources own = sources_of(store_, read_record(row));
    const bool is_known = own.source || !own.files.empty() || row.outcome == Outcome::ok;
    return fit->second = is_known ? build::same_sources(own, sources_) : passed_.contains(row.artifact_key);
  }
  bool has_failed_since(const StoredConfig& config) {
    const auto own = failed_.empty() ? failed_.end() : failed_.find(encoded(config));
    if (own == failed_.end()) return false;
    const auto newest = std::find_if(own->second.begin(), own->second.end(),
                                     [&](const StoredConfig* row) { return is_of_version(*row); });
    return newest != own->second.end() && (*newest)->outcome != Outcome::ok;
  }
  static std::string encoded(const StoredConfig& row) { return std::string(row.names()).append(row.values()); }

  const std::filesystem::path& store_;
  const StoreView& view_;
  const ConfigOrder& rows_;
  const StoredConfig* newest_ = nullptr;
  std::vector<std::string> judged_by_;
  build::ArtifactSources sources_;
  std::unordered_map<std::string, ConfigOrder> failed_;  ///< all of each configuration that failed once, newest first
  std::unordered_set<KeyDigest, KeyDigestHash> passed_;  ///< artifacts that failed and passed
  std::unordered_map<KeyDigest, bool, KeyDigestHash> fits_;  ///< by artifact, which configurations may share
};

/// A spec of which nothing is stored as it is now is an error that says how to find out why.
void require_present(const WinnerFilter& filter, std::uint64_t records, bool any) {
  if (filter.is_present && records > 0 && !any)
    throw Error(
        ErrorKind::nothing_valid,
        fmt::format("the store has {} of this kernel, and none of the spec as it is now; `xtune why SPEC` shows "
                    "what differs, and `xtune run SPEC` measures again",
                    base::counted(records, "record")));
}

/// Throws Error(io) if something could not be read.
void require_something(const FilteredParts& found, const std::filesystem::path& store,
                       const std::vector<std::string>& warnings) {
  if (found.unreadable > 0)
    throw Error(ErrorKind::io, "nothing of the store " + base::printable(store.string()) +
                                   " that is asked for could be read: " + warnings.front());
}

/// sizes: names of the sizes of all stored problems; found: whether a requested problem is stored.
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

}  // namespace

HeldRows StoredProblem::rows() const {
  HeldRows held = view.read_members(group);
  if (filter.is_present)
    std::erase_if(held.rows, [&](const StoredConfig* row) { return !filter.is_present(read_record(*row)); });
  return held;
}

std::vector<ValidConfig> valid_configs(const StoredProblem& problem, const ConfigOrder& rows, std::size_t most) {
  return Judge(problem.store, problem.view, rows).valid(problem.filter, most);
}

void each_problem(const std::filesystem::path& store, const WinnerFilter& filter, std::vector<std::string>& warnings,
                  const std::function<bool(const StoredProblem&)>& visit) {
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  bool any = false;
  StoreView::Options all;
  all.all = true;
  for (const auto& [part, sources] : found.parts) {
    const StoreView view = StoreView::load(sources, all);
    warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
    found.unreadable += view.row_set().unreadable;
    records += view.records();
    for (const StoreView::Group& group : view.groups()) {
      const StoredProblem problem{store, view, group, filter};
      for (const auto& [name, value] : problem.sizes()) sizes.insert(name);
      if (filter.takes(problem.sizes())) any = visit(problem) || any;
    }
  }
  if (records == 0) require_something(found, store, warnings);
  if (filter.problem.empty()) require_present(filter, records, any);
  require_problem(filter, sizes, any);
}

Criterion WinnerFilter::criterion_for(const Record& newest) const {
  Criterion found = criterion ? criterion(newest) : recorded_criterion(newest);
  if (!found.score && found.statistic != measure::Statistic::median)
    found.score = [](const Record&, double time_ms) { return time_ms; };
  return found;
}

bool WinnerFilter::takes(const Bindings& sizes) const {
  return std::all_of(problem.begin(), problem.end(), [&](const auto& asked) {
    const auto size = sizes.find(asked.first);
    return size != sizes.end() && to_text(size->second) == asked.second;
  });
}

std::vector<Winner> winners_of(const std::filesystem::path& store, const WinnerFilter& filter,
                               std::vector<std::string>& warnings, std::size_t most) {
  std::vector<Winner> winners;
  each_problem(store, filter, warnings, [&](const StoredProblem& problem) {
    const HeldRows held = problem.rows();
    std::vector<ValidConfig> valid = valid_configs(problem, held.rows, most);
    if (valid.empty()) return false;
    const StoredConfig& best = *valid.front().row;
    Winner& winner = winners.emplace_back();
    winner.line = system::read_file_part(best.block->source->path, best.offset(), best.bytes);
    for (const ValidConfig& one : valid) {
      winner.times_ms.emplace_back(one.record.config, one.time_ms);
      winner.newest_unix_ms = std::max(winner.newest_unix_ms, one.record.unix_time_ms);
    }
    winner.objective = valid.front().objective;
    winner.record = std::move(valid.front().record);
    winner.arch = winner.record.device.arch;
    winner.kernel = winner.record.kernel;
    return true;
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

}  // namespace

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
      found.parts[{file.kernel, file.arch}].push_back(RecordSource::whole(file.path));
  }
  if (found.parts.empty()) require_something(found, store, warnings);
  require_all(filter.archs, archs, "architecture", store);
  require_all(filter.kernels, kernels, "kernel", store);
  return found;
}

Measurements::Measurements(const std::filesystem::path& store, const WinnerFilter& filter,
                           std::vector<std::string>& warnings) {
  std::uint32_t parts = 0;
  each_problem(store, filter, warnings, [&](const StoredProblem& problem) {
    const RowSet& set = problem.view.row_set();
    if (sources_.empty() || sources_.back().path != set.sources.back().path)
      ++parts, sources_.insert(sources_.end(), set.sources.begin(), set.sources.end());
    const auto first_source = static_cast<std::uint32_t>(sources_.size() - set.sources.size());
    const HeldRows held = problem.rows();
    const auto factors = scale_factors(held.rows);
    const char* names = nullptr;
    for (const StoredConfig* const each : held.rows) {
      const StoredConfig& row = *each;
      places_.push_back({row.offset(), row.unix_time_ms, factors.at(each), parts, first_source + row.block->file,
                         row.bytes, row.is_of_finals()});
      if (std::exchange(names, row.names().data()) != row.names().data())
        for (const auto& [name, value] : config_bindings(row)) base::add_once(parameters_, name);
    }
    for (const auto& [name, value] : problem.sizes()) base::add_once(sizes_, name);
    return !held.rows.empty();
  });
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    const auto rank = [](const Place& one) {
      return std::tuple(one.part, one.unix_time_ms, one.finals, one.source, one.offset);
    };
    return rank(a) < rank(b);
  });
}

void Measurements::each(const std::function<void(Record record, double factor)>& visit) const {
  for (const Place& place : places_)
    visit(read_record(sources_[place.source], place.offset, place.bytes), place.factor);
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

void write_csv(const Measurements& measurements, const system::Sink& write) {
  constexpr std::size_t piece = 64 << 10;
  std::vector<std::string> columns;
  const CsvRow example = csv_row(Record(), 1);
  for (const auto& [name, value] : example.items())
    if (name == "problem" || name == "config")
      for (const std::string& own : name == "problem" ? measurements.sizes() : measurements.parameters())
        columns.push_back(name + "." + own);
    else
      columns.push_back(name);
  const base::CsvTable table(std::move(columns));
  std::string text = table.header();
  measurements.each([&](Record record, double factor) {
    record.time_ms = measure::scaled(record.time_ms, factor);
    text += table.line(csv_row(record, factor / record.slowness));
    if (text.size() > piece) write(text), text.clear();
  });
  write(text);
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
  for (const Winner& one : cases)
    if (!is_of_time(one.objective))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("the answers of {} have the {}, and trees compare times: export them as json or header",
                              base::printable(one.kernel, 80), one.objective));
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
    if (!winner.objective.empty()) list.back()["objective"] = winner.objective;
    for (std::size_t i = 1; i < winner.times_ms.size(); ++i)
      list.back()["others"].push_back(bindings_json(winner.times_ms[i].first));
  }
  return list;
}

std::vector<Record> records_of_task(const std::filesystem::path& store, const WinnerFilter& filter,
                                    std::vector<std::string>& warnings) {
  std::set<std::string> tasks;
  std::vector<Record> records;
  each_problem(store, filter, warnings, [&](const StoredProblem& problem) {
    const HeldRows held = problem.rows();
    if (held.rows.empty()) return false;
    tasks.insert(title(read_record(*held.rows.front())));
    for (const StoredConfig* row : held.rows)
      if (!row->drift && tasks.size() == 1) records.push_back(read_record(*row));
    return true;
  });
  if (tasks.empty()) throw Error(ErrorKind::nothing_valid, "the store has no measurements of that");
  if (tasks.size() > 1) {
    std::string choice;
    for (const std::string& name : tasks) choice += "\n  " + base::printable(name, 200);
    throw Error(
        ErrorKind::invalid_argument,
        "a T4 results file is of one kernel, device and problem; say --kernel, --arch and -D for one of:" + choice);
  }
  return records;
}

}  // namespace xtune::store
