// Groups rows by problem and device, ranks each group once, and answers from indices over the problems.
#include "core/store/store_view.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "core/build/artifact_json.hpp"
#include "core/record/finals.hpp"
#include "core/record/record_json.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/shape_index.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

using Json = nlohmann::json;
using Group = StoreView::Group;
using Rules = StoreView::Rules;

Bindings config_bindings(const StoredConfig& config) { return bindings_from_json(Json::parse(config.config_json)); }

// What FinalsResult looks at.
Record finals_record(const StoredConfig& config) {
  Record record;
  record.outcome = config.outcome;
  record.config = config_bindings(config);
  record.time_ms.median = config.median_ms;
  record.time_ms.mean = config.mean_ms;
  record.time_ms.min = config.min_ms;
  if (config.tainted) record.tainted = {""};
  if (!config.samples_ms.empty())
    for (const Json& sample : Json::parse(config.samples_ms)) record.samples_ms.push_back(number_from_json(sample));
  if (!config.usage.empty()) record.usage = resource_usage_from_json(Json::parse(config.usage));
  return record;
}

struct ConfigAccess {
  using Item = const StoredConfig*;
  static RankFacts facts(Item config) {
    return {config->key,     config->finals, config->attempt,      config->outcome,
            config->tainted, false,          config->unix_time_ms, config->median_ms};
  }
  static std::string_view config_text(Item config) { return config->config; }
};

std::vector<const StoredConfig*> settled(const std::vector<const StoredConfig*>& met, const Criterion& criterion) {
  std::vector<Record> records;
  std::vector<const Record*> pointers;
  for (const StoredConfig* config : met) records.push_back(finals_record(*config));
  for (const Record& record : records) pointers.push_back(&record);
  std::vector<const StoredConfig*> order;
  const FinalsResult result(pointers, criterion);
  for (const Record* record : result.order()) order.push_back(met[static_cast<std::size_t>(record - records.data())]);
  return order;
}

double StoredConfig::*time_named(const std::string& statistic) {
  if (statistic == "min") return &StoredConfig::min_ms;
  if (statistic == "mean") return &StoredConfig::mean_ms;
  if (statistic == "median") return &StoredConfig::median_ms;
  throw Error(ErrorKind::invalid_argument,
              "the statistic '" + printable(statistic, 40) + "': it is median, min or mean");
}

std::vector<const StoredConfig*> rank(const std::vector<const StoredConfig*>& configs, const std::string& statistic) {
  double StoredConfig::*const time = time_named(statistic);
  const Criterion criterion(statistic);
  const std::string finals_by = criterion.finals_by();
  const auto score = [&](const StoredConfig* config) { return config->count == 0 ? HUGE_VAL : config->*time; };
  const auto decided = [&](const StoredConfig* config) {
    return !config->finals.empty() && config->finals_by == finals_by;
  };
  return rank_records<ConfigAccess>(configs, score, decided, [&](const auto& met) { return settled(met, criterion); });
}

// Problems that were measured through one backend on one architecture, and the groups of each.
struct Realm {
  std::string backend, arch;
  std::vector<const Bindings*> problems;
  std::vector<std::vector<std::uint32_t>> groups;  ///< of each problem, in their order
  std::unique_ptr<ShapeIndex> shapes;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> buckets;  ///< -> problems
};

}  // namespace

struct StoreView::State {
  RowSet set;
  std::vector<RecordSource> sources;
  Options options;
  std::vector<Group> groups;
  std::vector<Realm> realms;

  void group();
  void index();
  const Realm* realm_of(const DeviceInfo& device) const;

  struct Place {
    const Group* group = nullptr;
    double distance = 0;
    bool exact_device = false, in_bucket = false;
    auto rank() const { return std::tuple(distance != 0, !in_bucket, distance, !exact_device, group); }
  };
  void consider(const Realm& realm, std::uint32_t problem, const Bindings& asked, const DeviceInfo& device,
                bool in_bucket, std::vector<Place>& places) const;
  std::vector<Place> first(const Realm& realm, const Bindings& asked, const DeviceInfo& device) const;
  std::vector<Place> all(const Realm& realm, const Bindings& asked, const DeviceInfo& device) const;
  bool answer(const Place& place, const Rules& rules, Found& found) const;
};

void StoreView::State::group() {
  std::vector<std::string> texts;
  for (const Bindings& problem : set.problems.values) texts.push_back(bindings_text(problem));
  using Key = std::tuple<std::string_view, std::string_view, std::int64_t, std::string_view, std::string_view,
                         std::string_view>;
  std::map<Key, std::pair<Group, std::vector<const StoredConfig*>>> found;
  // Most rows are of the same problem and device as one before: the texts are compared once a pair.
  std::unordered_map<std::uint64_t, std::vector<const StoredConfig*>*> known;
  for (const StoredConfig& row : set.rows) {
    auto& configs = known[std::uint64_t{row.problem} << 32 | row.device];
    if (!configs) {
      const DeviceInfo& device = set.devices.values[row.device];
      auto& entry =
          found[{texts[row.problem], device.name, device.compute_units, device.backend, device.arch, device.vendor}];
      if (entry.second.empty()) entry.first.problem = row.problem, entry.first.device = row.device;
      configs = &entry.second;
    }
    configs->push_back(&row);
  }
  std::vector<std::vector<const StoredConfig*>> members;
  for (auto& [key, entry] : found) {
    groups.push_back(std::move(entry.first));
    members.push_back(std::move(entry.second));
  }
  std::vector<std::exception_ptr> failures(groups.size());
  for_each_index(groups.size(), options.threads, [&](std::size_t i) {
    try {
      groups[i].order = rank(members[i], options.statistic);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  std::erase_if(groups, [](const Group& group) { return group.order.empty(); });
}

void StoreView::State::index() {
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const DeviceInfo& device = set.devices.values[groups[i].device];
    Realm* realm = const_cast<Realm*>(realm_of(device));
    if (!realm) realm = &realms.emplace_back(Realm{device.backend, device.arch, {}, {}, {}, {}});
    const Bindings& problem = set.problems.values[groups[i].problem];
    // Groups of one problem follow each other.
    if (realm->problems.empty() || *realm->problems.back() != problem) {
      realm->problems.push_back(&problem);
      realm->groups.emplace_back();
    }
    realm->groups.back().push_back(i);
  }
  for (Realm& realm : realms) {
    realm.shapes = std::make_unique<ShapeIndex>(realm.problems);
    if (!options.bucket) continue;
    for (std::uint32_t i = 0; i < realm.problems.size(); ++i)
      if (std::string bucket = options.bucket(*realm.problems[i]); !bucket.empty())
        realm.buckets[std::move(bucket)].push_back(i);
  }
}

const Realm* StoreView::State::realm_of(const DeviceInfo& device) const {
  for (const Realm& realm : realms)
    if (realm.backend == device.backend && realm.arch == device.arch) return &realm;
  return nullptr;
}

void StoreView::State::consider(const Realm& realm, std::uint32_t problem, const Bindings& asked,
                                const DeviceInfo& device, bool in_bucket, std::vector<Place>& places) const {
  const std::optional<double> distance = shape_distance(*realm.problems[problem], asked);
  if (!distance) return;
  for (const std::uint32_t group : realm.groups[problem])
    places.push_back(
        {&groups[group], *distance, same_device(set.devices.values[groups[group].device], device), in_bucket});
}

// The best place, found through the indices; empty where nothing is of this kind of problem.
std::vector<StoreView::State::Place> StoreView::State::first(const Realm& realm, const Bindings& asked,
                                                             const DeviceInfo& device) const {
  std::vector<Place> places;
  const auto best = [&] {
    std::swap(places.front(), *std::min_element(places.begin(), places.end(),
                                                [](const Place& a, const Place& b) { return a.rank() < b.rank(); }));
    places.resize(1);
    return places;
  };
  for (const std::uint32_t problem : realm.shapes->same(asked)) consider(realm, problem, asked, device, false, places);
  std::erase_if(places, [](const Place& place) { return place.distance != 0; });
  if (!places.empty()) return best();
  if (options.bucket && !realm.buckets.empty()) {
    const auto bucket = realm.buckets.find(options.bucket(asked));
    if (bucket != realm.buckets.end())
      for (const std::uint32_t problem : bucket->second) consider(realm, problem, asked, device, true, places);
    if (!places.empty()) return best();
  }
  for (const std::uint32_t problem : realm.shapes->nearest(asked))
    consider(realm, problem, asked, device, false, places);
  return places.empty() ? places : best();
}

std::vector<StoreView::State::Place> StoreView::State::all(const Realm& realm, const Bindings& asked,
                                                           const DeviceInfo& device) const {
  std::vector<Place> places;
  std::vector<bool> in_bucket(realm.problems.size());
  if (options.bucket)
    if (const auto bucket = realm.buckets.find(options.bucket(asked)); bucket != realm.buckets.end())
      for (const std::uint32_t problem : bucket->second) in_bucket[problem] = true;
  for (std::uint32_t i = 0; i < realm.problems.size(); ++i) consider(realm, i, asked, device, in_bucket[i], places);
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.rank() < b.rank(); });
  return places;
}

bool StoreView::State::answer(const Place& place, const Rules& rules, Found& found) const {
  const std::vector<const StoredConfig*>* order = &place.group->order;
  std::vector<const StoredConfig*> allowed;
  if (rules.allowed && !rules.allowed(*order->front())) {
    // What was turned away may have decided the finals of the others.
    for (const StoredConfig* config : *order)
      if (rules.allowed(*config)) allowed.push_back(config);
    allowed = rank(allowed, options.statistic);
    order = &allowed;
  }
  found = {};
  for (std::size_t i = 0; i < order->size(); ++i) {
    const StoredConfig& config = *(*order)[i];
    if (i > 0 && order != &allowed && rules.allowed && !rules.allowed(config)) continue;
    const bool holds = !rules.holds || rules.holds(config);
    if (!found.config || holds) found.config = &config, found.holds = holds;
    if (holds) break;
    ++found.passed_over;
  }
  if (!found.config) return false;
  if (!found.holds) found.passed_over = 0;
  found.distance = place.distance;
  found.exact_device = place.exact_device;
  found.match = place.distance != 0  ? place.in_bucket ? Match::bucket : Match::nearest
                : place.exact_device ? Match::exact
                                     : Match::nearest;
  return true;
}

StoreView::StoreView(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreView::StoreView(StoreView&&) noexcept = default;
StoreView& StoreView::operator=(StoreView&&) noexcept = default;
StoreView::~StoreView() = default;

StoreView StoreView::load(std::vector<RecordSource> sources, const Options& options) {
  auto state = std::make_unique<State>();
  time_named(options.statistic);  // refuses what it does not know
  state->options = options;
  state->set = read_rows(sources, options.threads);
  state->sources = std::move(sources);
  state->group();
  state->index();
  return StoreView(std::move(state));
}

StoreView StoreView::load(const std::filesystem::path& store, const std::string& arch, const std::string& kernel,
                          const Options& options) {
  std::vector<std::string> warnings;
  std::vector<RecordSource> sources;
  for (const std::filesystem::path& file : record_files(store, arch, kernel, warnings))
    sources.push_back({file, 0, UINT64_MAX, printable(file.string())});
  StoreView view = load(std::move(sources), options);
  std::vector<std::string>& all = view.state_->set.warnings;
  all.insert(all.begin(), warnings.begin(), warnings.end());
  return view;
}

const std::vector<Group>& StoreView::groups() const noexcept { return state_->groups; }
std::uint64_t StoreView::records() const noexcept { return state_->set.records; }
const std::vector<std::string>& StoreView::warnings() const noexcept { return state_->set.warnings; }
const Bindings& StoreView::problem_of(const StoredConfig& config) const {
  return state_->set.problems.values[config.problem];
}
const DeviceInfo& StoreView::device_of(const StoredConfig& config) const {
  return state_->set.devices.values[config.device];
}
Bindings StoreView::config_of(const StoredConfig& config) const { return config_bindings(config); }

StoreView::Found StoreView::find(const Bindings& problem, const DeviceInfo& device) const {
  static const Rules none;
  return find(problem, device, none);
}

StoreView::Found StoreView::find(const Bindings& problem, const DeviceInfo& device, const Rules& rules) const {
  Found found;
  const Realm* const realm = state_->realm_of(device);
  if (!realm) return found;
  const std::vector<State::Place> first = state_->first(*realm, problem, device);
  if (first.empty() || state_->answer(first.front(), rules, found)) return found;
  for (const State::Place& place : state_->all(*realm, problem, device))
    if (place.group != first.front().group && state_->answer(place, rules, found)) return found;
  return {};
}

std::string StoreView::explain(const Found& found, const Bindings& problem, const DeviceInfo& device) const {
  if (!found.config)
    return fmt::format("none: no stored configuration may answer for {} on {} ({}, {})", bindings_text(problem),
                       device.name, device.arch, device.backend);
  std::string text = fmt::format("{}: {}, {}", to_string(found.match), found.config->config,
                                 human_time_ms(found.config->*time_named(state_->options.statistic)));
  if (problem_of(*found.config) != problem)
    text +=
        fmt::format(", measured for {} (distance {:.3g})", bindings_text(problem_of(*found.config)), found.distance);
  if (!found.exact_device) text += ", measured on " + device_of(*found.config).name;
  if (!found.holds) text += ", of an earlier state of the spec";
  if (found.passed_over) text += fmt::format(", {} faster ones of an earlier state passed over", found.passed_over);
  if (found.config->tainted) text += ", tainted";
  return text;
}

Record StoreView::record_of(const StoredConfig& config) const {
  const RecordSource& source = state_->sources[config.file];
  const std::string line = read_file_part(source.path, config.offset, config.bytes);
  RecordLine read = read_record_line(line);
  if (read.kind != RecordLine::Kind::record || read.record->key != config.key)
    throw Error(ErrorKind::io, fmt::format("{}: it has changed since it was read; load it again", source.name));
  return std::move(*read.record);
}

}  // namespace xtune
