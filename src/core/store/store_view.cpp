// Answers from indices over the problems that were measured.
#include "core/store/store_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/store/best.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "core/store/shape_index.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// Ranks with the code that ranks whole records; reads records only for finals, which need their samples.

namespace {

/// The rules of rank_records.
struct ConfigRules {
  Criterion criterion;
  std::string finals_by = criterion.finals_by();

  double time(const StoredConfig* config) const {
    return config->outcome == Outcome::pruned ? config->low_ms : config->time_ms;
  }
  double score(const StoredConfig*, double time_ms) const { return time_ms; }
  bool decided(const StoredConfig* config) const {
    return config->is_of_finals() && config->block->finals_by == finals_by;
  }
  std::vector<std::pair<const StoredConfig*, FinalsRatio>> settled(const ConfigOrder& met) const {
    std::vector<Record> records;
    std::vector<const Record*> pointers;
    for (const StoredConfig* config : met) records.push_back(read_record(*config));
    for (const Record& record : records) pointers.push_back(&record);
    std::vector<std::pair<const StoredConfig*, FinalsRatio>> result;
    for (const auto& [record, ratio] : FinalsResult(pointers, criterion).ratios())
      result.emplace_back(met[static_cast<std::size_t>(record - records.data())], ratio);
    return result;
  }
};

}  // namespace

RankFacts ConfigAccess::facts(const StoredConfig* config) {
  return {config->key.bytes(), config->block->finals, config->block->attempt, config->outcome,
          config->tainted,     config->drift,         config->unix_time_ms,   config->median_ms};
}

bool ConfigAccess::same_config(const StoredConfig* a, const StoredConfig* b) {
  return a->names() == b->names() && a->values() == b->values();
}

std::string ConfigAccess::config_text(const StoredConfig* config) { return xtune::store::config_text(*config); }

ConfigOrder current_configs(std::span<const StoredConfig* const> configs) {
  return current_records<ConfigAccess>(configs);
}

std::pair<const StoredConfig*, std::size_t> best_config(std::span<const StoredConfig* const> configs,
                                                        const Criterion& criterion) {
  const ConfigRules rules{criterion};
  const auto decided = [&](const StoredConfig* config) { return rules.decided(config); };
  if (criterion.score || std::any_of(configs.begin(), configs.end(), decided)) {
    const ConfigOrder order = rank_configs(configs, criterion);
    return {order.empty() ? nullptr : order.front(), order.size()};
  }
  using Ranked = RankedItem<ConfigAccess, const StoredConfig*>;
  std::optional<Ranked> best;
  std::size_t count = 0;
  each_scored<ConfigAccess>(current_configs(configs), rules, [&](const Ranked& rank) {
    if (++count == 1 || rank < *best) best.emplace(rank);
  });
  return {best ? best->item : nullptr, count};
}

ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, const Criterion& criterion) {
  if (criterion.score) {
    std::vector<Record> records;
    for (const StoredConfig* config : configs) records.push_back(read_record(*config));
    ConfigOrder order;
    for (const Record* record : store::ranked(records, criterion))
      order.push_back(configs[static_cast<std::size_t>(record - records.data())]);
    return order;
  }
  const ConfigRules rules{criterion};
  return rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules).order;
}

std::vector<double> scale_factors(std::span<const StoredConfig* const> configs) {
  const ConfigRules rules{{}};
  const auto ranking = rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules);
  std::vector<double> factors;
  for (const StoredConfig* config : configs) {
    const double own_ms = rules.time(config), factor = ranking.scale ? ranking.scale->time(config) / own_ms : 1;
    factors.push_back(own_ms > 0 && std::isfinite(factor) ? factor : 1);
  }
  return factors;
}

ConfigOrder overview_of(ConfigOrder configs, std::size_t most, const KeyDigest& key) {
  if (configs.size() <= most) return configs;
  std::sort(configs.begin(), configs.end(), [](const StoredConfig* a, const StoredConfig* b) {
    return std::tuple(b->unix_time_ms, b->block->file, b->offset()) <
           std::tuple(a->unix_time_ms, a->block->file, a->offset());
  });
  std::unordered_set<const StoredConfig*> chosen;
  const auto take = [&](const ConfigOrder& from, std::size_t up_to, std::size_t every, const auto& wanted) {
    for (std::size_t i = 0; i < from.size() && chosen.size() < up_to; i += every)
      if (wanted(from[i])) chosen.insert(from[i]);
  };
  const auto any = [](const StoredConfig*) { return true; };
  take(configs, most, 1, [&](const StoredConfig* config) { return config->key == key; });
  take(configs, most / 4, 1, [](const StoredConfig* config) { return config->is_of_finals(); });
  take(rank_configs(configs, {}), most / 2, 1, any);
  take(configs, most, configs.size() / (most - chosen.size() + 1) + 1, any);
  std::erase_if(configs, [&](const StoredConfig* config) { return !chosen.contains(config); });
  return configs;
}

namespace {

using Group = StoreView::Group;

/// Problems that were measured with one backend on one architecture, and the groups of each.
struct ArchIndex {
  std::string backend, arch;
  std::vector<const Bindings*> problems;
  const NamedProblem* last = nullptr;  ///< of them
  std::vector<std::uint32_t> ends;     ///< problems[i] has groups[ends[i - 1]] up to groups[ends[i]]
  std::vector<std::uint32_t> groups;   ///< of the view
  std::size_t rows = 0;                ///< of all these groups
  std::optional<ShapeIndex> shapes;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> buckets;  ///< -> problems

  std::span<const std::uint32_t> groups_of(std::uint32_t problem) const {
    const std::uint32_t begin = problem == 0 ? 0 : ends[problem - 1];
    return std::span(groups).subspan(begin, ends[problem] - begin);
  }
};

// The interface of choose_ranked for rows, of which `ranked` have a rank. members: those that may have failed.
LookupGroup::Order readable(const StoreView& view, std::size_t ranked,
                            const std::function<const StoredConfig*(std::size_t rank)>& at, ConfigOrder members) {
  LookupGroup::Order asked;
  asked.left = members.size(), asked.ranked = ranked;
  asked.record = [at, read = Record(), &view](std::size_t i) mutable -> const Record& {
    return read = view.record_of(*at(i));
  };
  asked.device = [at, &view](std::size_t i) -> const device::DeviceInfo& { return view.device_of(*at(i)); };
  const auto failures = std::make_shared<Failures<ConfigAccess, const StoredConfig*>>(std::move(members));
  asked.any_failure = [at, failures, &view](std::size_t i, const auto& visit) {
    return failures->any(config_text(*at(i)), [&](const StoredConfig* row) { return visit(view.record_of(*row)); });
  };
  return asked;
}

// The row of a group that is used. all: its members that rank, best first.
bool choose(const StoreView& view, std::span<const StoredConfig* const> members, const ConfigOrder& all,
            spec::Statistic statistic, const LookupRules& rules, StoreView::Found& found) {
  const auto may_answer = [&](const StoredConfig* row) {
    Record record;
    if (rules.obstacle) record.config = config_bindings(*row);
    return !rules.obstacle || rules.obstacle(record).empty();
  };
  std::shared_ptr<const ConfigOrder> order(std::shared_ptr<void>(), &all);
  if (!may_answer(all.front())) {
    // Rejected rows may have decided the finals of the others.
    ConfigOrder allowed;
    std::copy_if(all.begin(), all.end(), std::back_inserter(allowed), may_answer);
    order = std::make_shared<const ConfigOrder>(rank_configs(allowed, statistic));
    if (order->empty()) return false;
  }
  found.config = order->front();
  if (!rules.differences) return true;
  LookupGroup::Order asked =
      readable(view, order->size(), [&](std::size_t i) { return (*order)[i]; }, {members.begin(), members.end()});
  if (order.get() == &all) asked.may_answer = [&](std::size_t i) { return i == 0 || may_answer(all[i]); };
  RankedChoice choice = choose_ranked(asked, rules);
  if (!choice.record) return false;
  found.config = (*order)[choice.place];
  found.record = std::make_shared<Record>(std::move(*choice.record));
  found.fit = key_fit(choice.differences);
  found.passed_over = choice.passed_over;
  return true;
}

}  // namespace

/// A group that may have an answer.
struct StoreView::Place {
  std::uint32_t group = 0;
  Nearness nearness;
  bool operator<(const Place& other) const {
    return std::tuple(nearness.rank(), group) < std::tuple(other.nearness.rank(), other.group);
  }
};

struct StoreView::State {
  RowSet set;
  Options options;
  std::vector<const RowBlock*> blocks;  ///< group by group, each in the order of the rows
  std::vector<Group> groups;            ///< sorted by the problem's text, then the device's name
  /// By group; null until first use. If two threads rank one group at once, the second order is discarded.
  mutable std::vector<std::atomic<const ConfigOrder*>> orders;
  std::vector<ArchIndex> arch_indexes;
  std::once_flag suspects_found;
  std::unordered_map<std::string, ConfigOrder> suspects;  ///< by configuration

  std::map<std::uint32_t, std::size_t> rows_of_devices, sanitized;  ///< sanitized rows are among them

  ~State() {
    for (const auto& order : orders) delete order.load(std::memory_order_relaxed);
  }
  void cut();
  void drop_unanswered();
  HeldRows members_of(const Group& group, bool keep) const;
  const ConfigOrder& order(const Group& group) const;
  void find_suspects();
  void index();
  const ArchIndex* arch_index_of(const device::DeviceInfo& device) const;

  template <class Take>
  void consider(const ArchIndex& arch_index, std::uint32_t problem, const Bindings& asked,
                const device::DeviceInfo& device, bool in_bucket, const Take& take) const;
  std::optional<Place> first(const ArchIndex& arch_index, const Bindings& asked,
                             const device::DeviceInfo& device) const;
  std::vector<Place> all(const ArchIndex& arch_index, const Bindings& asked, const device::DeviceInfo& device) const;
  void leave_allowed(ConfigOrder& members, const LookupRules& rules,
                     std::map<std::string, std::size_t>& left_out) const;
};

// Sorts blocks of rows by their problems, by the texts of these, and then by device.

namespace {

// For each number the rank of its key among all keys; equal keys have the same rank.
template <class Key>
std::vector<std::uint32_t> places_of(const std::vector<Key>& keys, unsigned threads) {
  std::vector<std::pair<Key, std::uint32_t>> sorted;
  sorted.reserve(keys.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) sorted.emplace_back(keys[i], i);
  system::sort_in_threads(sorted, threads);
  std::vector<std::uint32_t> places(keys.size());
  std::uint32_t place = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    place += i > 0 && sorted[i].first != sorted[i - 1].first;
    places[sorted[i].second] = place;
  }
  return places;
}

// For each device the properties that same_device() compares, sorted by name.
std::vector<std::uint32_t> kinds_of(const std::vector<device::DeviceInfo>& devices) {
  using Kind = std::tuple<std::string_view, std::int64_t, std::string_view, std::string_view, std::string_view>;
  std::vector<Kind> kinds;
  for (const device::DeviceInfo& device : devices)
    kinds.emplace_back(device.name, device.compute_units, device.backend, device.arch, device.vendor);
  return places_of(kinds, 1);
}

// By their texts; 1 and "1" have the same one.
std::vector<std::uint32_t> places_of(const std::vector<NamedProblem>& problems, unsigned threads) {
  std::vector<std::pair<std::string_view, std::uint64_t>> texts;
  for (const NamedProblem& problem : problems) {
    std::uint64_t types = 0;
    for (const auto& [name, value] : problem.sizes) types = types << 2 | value.index();
    texts.emplace_back(problem.text, types);
  }
  return places_of(texts, threads);
}

/// Calls work(i) for each i below count, as for_each_index does. Throws the first of its exceptions.
template <class Work>
void for_each_or_throw(std::size_t count, unsigned threads, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  system::for_each_index(count, threads, [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

void HeldRows::add(const RowSet& set, const RowBlock& block, bool keep) {
  held.push_back(set.rows_of(block, keep));
  for (const StoredConfig& row : held.back()->rows) rows.push_back(&row);
}

void StoreView::State::cut() {
  const std::vector<std::uint32_t> problems = places_of(set.problems, options.threads), kinds = kinds_of(set.devices);
  const auto rank = [&](const RowBlock& block) {
    return std::uint64_t{problems[block.problem]} << 32 | kinds[block.device];
  };
  std::vector<std::pair<std::uint64_t, std::size_t>> sorted;
  for (std::size_t i = 0; i < set.blocks.size(); ++i)
    if (!set.blocks[i].sanitized) sorted.emplace_back(rank(set.blocks[i]), i);
  system::sort_in_threads(sorted, options.threads);
  for (const auto& [key, number] : sorted) {
    const RowBlock* const block = &set.blocks[number];
    if (groups.empty() || rank(*blocks.back()) != key)
      groups.push_back({block->problem, block->device, blocks.size(), blocks.size(), 0});
    blocks.push_back(block);
    groups.back().end = blocks.size();
    groups.back().records += block->records;
  }
  if (!options.all) drop_unanswered();
  orders = std::vector<std::atomic<const ConfigOrder*>>(groups.size());
}

/// Removes groups without a ranked record.
void StoreView::State::drop_unanswered() {
  std::vector<char> ranks(groups.size());
  for_each_or_throw(groups.size(), options.threads, [&](std::size_t i) {
    std::uint64_t answers = 0, ranking = 0;
    for (std::size_t block = groups[i].begin; block < groups[i].end; ++block)
      answers += blocks[block]->answers, ranking += blocks[block]->ranks;
    // A row that does not rank may replace one that does.
    const auto passed = [](const StoredConfig* row) {
      return row->outcome == Outcome::ok && std::isfinite(row->time_ms);
    };
    const auto any_passed = [&](const ConfigOrder& rows) { return std::any_of(rows.begin(), rows.end(), passed); };
    ranks[i] = ranking > 0 && (ranking == answers || any_passed(current_configs(members_of(groups[i], true).rows)));
  });
  std::vector<Group> kept;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (ranks[i]) kept.push_back(groups[i]);
  groups = std::move(kept);
}

/// All members, whether they rank or not, in the order of the rows. keep: as in RowSet::rows_of.
HeldRows StoreView::State::members_of(const Group& group, bool keep) const {
  HeldRows members;
  for (std::size_t i = group.begin; i < group.end; ++i) members.add(set, *blocks[i], keep);
  return members;
}

/// The first call for a group ranks it, later calls cost an atomic load.
const ConfigOrder& StoreView::State::order(const Group& group) const {
  std::atomic<const ConfigOrder*>& place = orders[static_cast<std::size_t>(&group - groups.data())];
  if (const ConfigOrder* const known = place.load(std::memory_order_acquire)) [[likely]]
    return *known;
  auto fresh = std::make_unique<const ConfigOrder>(rank_configs(members_of(group, true).rows, options.statistic));
  const ConfigOrder* known = nullptr;
  if (place.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *known;
}

void StoreView::State::index() {
  for (const RowBlock& block : set.blocks) {
    rows_of_devices[block.device] += block.records;
    if (block.sanitized) sanitized[block.device] += block.records;
  }
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    const device::DeviceInfo& device = set.devices[group.device];
    ArchIndex* arch_index = const_cast<ArchIndex*>(arch_index_of(device));
    if (!arch_index)
      arch_index = &arch_indexes.emplace_back(ArchIndex{device.backend, device.arch, {}, {}, {}, {}, 0, {}, {}});
    const NamedProblem& problem = set.problems[group.problem];
    // Groups of one problem follow each other.
    if (!arch_index->last || arch_index->last->text != problem.text || arch_index->last->sizes != problem.sizes) {
      arch_index->last = &problem;
      arch_index->problems.push_back(&problem.sizes);
      arch_index->ends.push_back(0);
    }
    arch_index->groups.push_back(i);
    arch_index->rows += group.records;
    arch_index->ends.back() = static_cast<std::uint32_t>(arch_index->groups.size());
  }
  for (ArchIndex& arch_index : arch_indexes) {
    arch_index.shapes.emplace(arch_index.problems);
    if (!options.bucket) continue;
    for (std::uint32_t i = 0; i < arch_index.problems.size(); ++i)
      if (std::string bucket = options.bucket(*arch_index.problems[i]); !bucket.empty())
        arch_index.buckets[std::move(bucket)].push_back(i);
  }
}

void StoreView::State::find_suspects() {
  const auto each_row = [&](const auto& visit) {
    for (const RowBlock& block : set.blocks)
      for (const StoredConfig& row : set.rows_of(block)->rows) visit(row);
  };
  each_row([&](const StoredConfig& row) {
    if (failed_when_run(row.outcome, "")) suspects[config_text(row)];
  });
  if (suspects.empty()) return;
  each_row([&](const StoredConfig& row) {
    if (const auto suspect = suspects.find(config_text(row)); suspect != suspects.end())
      suspect->second.push_back(&row);
  });
  for (auto& [config, rows] : suspects) rows = current_configs(rows);
}

const ArchIndex* StoreView::State::arch_index_of(const device::DeviceInfo& device) const {
  for (const ArchIndex& arch_index : arch_indexes)
    if (arch_index.backend == device.backend && arch_index.arch == device.arch) return &arch_index;
  return nullptr;
}

template <class Take>
void StoreView::State::consider(const ArchIndex& arch_index, std::uint32_t problem, const Bindings& asked,
                                const device::DeviceInfo& device, bool in_bucket, const Take& take) const {
  const std::optional<double> distance = shape_distance(*arch_index.problems[problem], asked);
  if (!distance) return;
  for (const std::uint32_t group : arch_index.groups_of(problem))
    take(Place{group, {*distance, same_device(set.devices[groups[group].device], device), in_bucket}});
}

// The best group; unset if there is no problem of this kind.
std::optional<StoreView::Place> StoreView::State::first(const ArchIndex& arch_index, const Bindings& asked,
                                                        const device::DeviceInfo& device) const {
  std::optional<Place> best;
  const auto take = [&](const Place& place) {
    if (!best || place < *best) best = place;
  };
  for (const std::uint32_t problem : arch_index.shapes->nearest(asked))
    consider(arch_index, problem, asked, device, false, take);
  if (!best || best->nearness.distance == 0 || !options.bucket) return best;
  if (const auto bucket = arch_index.buckets.find(options.bucket(asked)); bucket != arch_index.buckets.end())
    for (const std::uint32_t problem : bucket->second) consider(arch_index, problem, asked, device, true, take);
  return best;
}

std::vector<StoreView::Place> StoreView::State::all(const ArchIndex& arch_index, const Bindings& asked,
                                                    const device::DeviceInfo& device) const {
  std::vector<Place> places;
  std::vector<bool> in_bucket(arch_index.problems.size());
  if (options.bucket)
    if (const auto bucket = arch_index.buckets.find(options.bucket(asked)); bucket != arch_index.buckets.end())
      for (const std::uint32_t problem : bucket->second) in_bucket[problem] = true;
  for (std::uint32_t i = 0; i < arch_index.problems.size(); ++i)
    consider(arch_index, i, asked, device, in_bucket[i], [&](const Place& place) { places.push_back(place); });
  std::sort(places.begin(), places.end());
  return places;
}

StoreView::StoreView(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreView::StoreView(StoreView&&) noexcept = default;
StoreView& StoreView::operator=(StoreView&&) noexcept = default;
StoreView::~StoreView() = default;

StoreView StoreView::load(std::vector<RecordSource> sources, const Options& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->set = read_rows(std::move(sources), options);
  state->cut();
  state->index();
  return StoreView(std::move(state));
}

StoreView StoreView::load(const std::filesystem::path& store, const std::string& arch, const std::string& kernel,
                          const Options& options) {
  std::vector<std::string> warnings;
  StoreView view = load(record_files(store, arch, kernel, warnings), options);
  std::vector<std::string>& all = view.state_->set.warnings;
  all.insert(all.begin(), warnings.begin(), warnings.end());
  return view;
}

bool StoreView::grow(const std::vector<RecordSource>& further) {
  forget_rows();
  const std::size_t before = state_->set.blocks.size();
  if (!read_more(state_->set, further)) return false;
  if (state_->set.blocks.size() == before) return true;
  auto grown = std::make_unique<State>();
  grown->options = state_->options;
  grown->set = std::move(state_->set);
  state_ = std::move(grown);
  state_->cut();
  state_->index();
  return true;
}

const std::vector<Group>& StoreView::groups() const noexcept { return state_->groups; }
const ConfigOrder& StoreView::order(const Group& group) const { return state_->order(group); }
std::uint64_t StoreView::records() const noexcept { return state_->set.records; }
std::int64_t StoreView::newest_unix_ms() const noexcept { return state_->set.newest_unix_ms; }
const RowSet& StoreView::row_set() const noexcept { return state_->set; }
const std::vector<std::string>& StoreView::warnings() const noexcept { return state_->set.warnings; }
const ConfigOrder& StoreView::suspect(std::string_view config) const {
  static const ConfigOrder none;
  std::call_once(state_->suspects_found, [this] { state_->find_suspects(); });
  const auto found = state_->suspects.find(std::string(config));
  return found == state_->suspects.end() ? none : found->second;
}
const Bindings& StoreView::problem_of(const StoredConfig& config) const {
  return state_->set.problems[config.block->problem].sizes;
}
const device::DeviceInfo& StoreView::device_of(const StoredConfig& config) const {
  return state_->set.devices[config.block->device];
}
Bindings StoreView::config_of(const StoredConfig& config) const { return config_bindings(config); }

StoreView::Found StoreView::find(const Bindings& problem, const device::DeviceInfo& device) const {
  static const LookupRules none;
  return find(problem, device, none);
}

StoreView::Found StoreView::find(const Bindings& problem, const device::DeviceInfo& device,
                                 const LookupRules& rules) const {
  Found found;
  const ArchIndex* const arch_index = state_->arch_index_of(device);
  if (!arch_index) return found;
  const std::optional<Place> first = state_->first(*arch_index, problem, device);
  if (!first) return found;
  const auto outside = [&](const Place& place) {
    Found none;
    none.beyond = &state_->set.problems[groups()[place.group].problem].sizes;
    none.beyond_distance = place.nearness.distance;
    return none;
  };
  // The first is the nearest, so all others are outside of the radius as well.
  if (!rules.reaches(first->nearness)) return outside(*first);
  if (answer(*first, rules, found)) return found;
  for (const Place& place : state_->all(*arch_index, problem, device)) {
    if (!rules.reaches(place.nearness)) return outside(place);
    if (place.group != first->group && answer(place, rules, found)) return found;
  }
  return {};
}

bool StoreView::answer(const Place& place, const LookupRules& rules, Found& found) const {
  const Group& group = groups()[place.group];
  const ConfigOrder& order = state_->order(group);
  if (order.empty()) return false;
  found.config = order.front();
  if ((rules.obstacle || rules.differences) &&
      !choose(*this, state_->members_of(group, true).rows, order, state_->options.statistic, rules, found))
    return false;
  found.distance = place.nearness.distance;
  found.exact_device = place.nearness.exact_device;
  found.match = place.nearness.match();
  return true;
}

// Removes rows that may not be used, in several threads, as there may be millions.
void StoreView::State::leave_allowed(ConfigOrder& members, const LookupRules& rules,
                                     std::map<std::string, std::size_t>& left_out) const {
  constexpr std::size_t block = 4096;
  if (!rules.obstacle) return;
  std::vector<std::map<std::string, std::size_t>> parts((members.size() + block - 1) / block);
  system::for_each_index(parts.size(), options.threads, [&](std::size_t i) {
    Record record;
    for (const StoredConfig*& row :
         std::span(members).subspan(i * block, std::min(block, members.size() - i * block))) {
      if (rules.allows && rules.allows(row->names(), row->values())) continue;
      record.config = config_bindings(*row);
      if (const std::string obstacle = rules.obstacle(record); !obstacle.empty()) ++parts[i][obstacle], row = nullptr;
    }
  });
  std::erase(members, nullptr);
  for (const auto& part : parts)
    for (const auto& [obstacle, count] : part) left_out[obstacle] += count;
}

std::vector<Record> answering(const StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                              const LookupRules& rules, KeyFit worst) {
  std::vector<Record> records;
  for (const StoredConfig* row : view.members(problem, device, rules.obstacle)) {
    Record record = read_record(*row);
    if (worst == KeyFit::differs || !rules.differences || key_fit(rules.differences(record)) <= worst)
      records.push_back(std::move(record));
  }
  return records;
}

ConfigOrder answering_rows(const StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                           const LookupRules& rules, KeyFit worst) {
  ConfigOrder rows = view.members(problem, device, rules.obstacle);
  if (worst != KeyFit::differs && rules.differences)
    std::erase_if(rows, [&](const StoredConfig* row) { return key_fit(rules.differences(read_record(*row))) > worst; });
  return rows;
}

std::vector<Record> failures_elsewhere(const StoreView& view, const Bindings& config, const Bindings& problem,
                                       const device::DeviceInfo& device, const LookupRules& rules) {
  std::map<std::pair<double, std::string>, Record> newest;
  for (const StoredConfig* row : view.suspect(space::bindings_text(config))) {
    const device::DeviceInfo& own = view.device_of(*row);
    const std::optional<double> distance = shape_distance(view.problem_of(*row), problem);
    if (own.arch != device.arch || own.backend != device.backend || !distance || *distance == 0) continue;
    Record record = read_record(*row);
    Record& known = newest[{*distance, space::bindings_text(record.problem)}];
    if (!known.key.empty() && known.unix_time_ms > record.unix_time_ms) continue;
    if (!rules.differences || rules.differences(record).empty()) known = std::move(record);
  }
  std::vector<Record> failures;
  for (auto& [place, record] : newest)
    if (failed_when_run(record.outcome, record.stage) && !is_stored_shortage(record))
      failures.push_back(std::move(record));
  return failures;
}

LookupResult StoreView::look_up(const Bindings& problem, const device::DeviceInfo& device, const LookupRules& rules,
                                const std::optional<Criterion>& criterion) const {
  const Criterion ranks_by = criterion.value_or(state_->options.statistic);
  const RowSet& set = state_->set;
  LookupCounts counts;
  counts.records = set.records;
  for (const auto& [number, rows] : state_->rows_of_devices) {
    const device::DeviceInfo& own = set.devices[number];
    if (own.arch != device.arch)
      counts.other_arch += rows;
    else if (own.backend != device.backend)
      counts.other_backend += rows;
    else if (const auto sanitized = state_->sanitized.find(number); sanitized != state_->sanitized.end())
      counts.sanitized += sanitized->second;
  }
  const ArchIndex* const arch_index = state_->arch_index_of(device);
  ShapeIndex::Comparable problems;
  // A bucket may contain the farthest problem.
  if (arch_index) problems = arch_index->shapes->comparable(problem, rules.bucket ? groups().size() : max_shown_groups);
  counts.other_problem = arch_index ? arch_index->rows : 0;
  std::size_t far = 0;
  for (const auto* list : {&problems.near, &problems.far})
    for (const std::uint32_t number : *list)
      for (const std::uint32_t group : arch_index->groups_of(number))
        counts.other_problem -= groups()[group].records, far += list == &problems.far;
  const auto groups_of = [&](const std::vector<std::uint32_t>& numbers) {
    std::vector<Place> places;
    for (const std::uint32_t number : numbers)
      state_->consider(*arch_index, number, problem, device, false, [&](const Place& one) { places.push_back(one); });
    std::sort(places.begin(), places.end());
    std::vector<LookupGroup> result;
    for (const Place& one : places) {
      const Group& group = groups()[one.group];
      result.push_back({&set.problems[group.problem].sizes, &set.devices[group.device], one.nearness, one.group});
    }
    return result;
  };
  const auto rank = [&, this](const LookupGroup& group) {
    std::map<std::string, std::size_t> left_out;
    struct Ranks {
      HeldRows left;
      ConfigOrder order;
    };
    const auto ranks = std::make_shared<Ranks>();
    ranks->left = state_->members_of(groups()[group.number], false);
    state_->leave_allowed(ranks->left.rows, rules, left_out);
    const auto [first, count] = best_config(ranks->left.rows, ranks_by);
    // Mostly the first one is asked for only.
    const auto at = [ranks, first = first, ranks_by](std::size_t i) {
      if (i > 0 && ranks->order.empty()) ranks->order = rank_configs(ranks->left.rows, ranks_by);
      return i == 0 ? first : ranks->order[i];
    };
    LookupGroup::Order order = readable(*this, count, at, ranks->left.rows);
    order.left_out = std::move(left_out);
    return order;
  };
  LookupResult result = xtune::store::look_up(groups_of(problems.near), rank, counts, problem, device, ranks_by, rules,
                                              {far, [&] { return groups_of(problems.far); }});
  if (result.record && result.distance != 0)
    result.failed_elsewhere = failures_elsewhere(*this, result.record->config, problem, device, rules);
  return result;
}

HeldRows StoreView::read_members(const Group& group) const { return state_->members_of(group, false); }

HeldRows StoreView::read_members(const Bindings& problem, const device::DeviceInfo& device, bool keep) const {
  HeldRows own;
  const ArchIndex* const arch_index = state_->arch_index_of(device);
  if (!arch_index) return own;
  for (const std::uint32_t same : arch_index->shapes->nearest(problem)) {
    if (*arch_index->problems[same] != problem) continue;
    for (const std::uint32_t group : arch_index->groups_of(same))
      if (same_device(state_->set.devices[groups()[group].device], device))
        own = state_->members_of(groups()[group], keep);
  }
  return own;
}

ConfigOrder StoreView::members(const Bindings& problem, const device::DeviceInfo& device,
                               const std::function<std::string(const Record&)>& obstacle) const {
  LookupRules rules;
  rules.obstacle = obstacle;
  std::map<std::string, std::size_t> ignored;
  ConfigOrder own = read_members(problem, device).rows;
  state_->leave_allowed(own, rules, ignored);
  return own;
}

void StoreView::forget_rows() { state_->set.forget_rows(); }

std::string StoreView::explain(const Found& found, const Bindings& problem, const device::DeviceInfo& device,
                               const LookupRules& rules) const {
  if (found.beyond)
    return fmt::format("none: the nearest measured problem, {}, has distance {:.3g}, {}",
                       space::shown_text(*found.beyond), found.beyond_distance, outside_radius(rules.radius));
  if (!found.config)
    return fmt::format("none: no stored configuration may answer for {} on {} ({}, {})", space::shown_text(problem),
                       device.name, device.arch, device.backend);
  std::string text = fmt::format("{}: {}, {}", to_string(found.match), base::one_line(config_text(*found.config)),
                                 base::human_time_ms(found.config->time_ms));
  if (problem_of(*found.config) != problem)
    text += fmt::format(", measured for {} (distance {:.3g})", space::shown_text(problem_of(*found.config)),
                        found.distance);
  if (!found.exact_device) text += ", measured on " + device_of(*found.config).name;
  if (found.fit == KeyFit::stale) text += ", stale: " + driver_change(device_of(*found.config), device);
  if (found.fit == KeyFit::differs) text += ", of an earlier state of the spec";
  if (found.passed_over) text += fmt::format(", {} faster ones of an earlier state skipped", found.passed_over);
  if (found.config->tainted) text += ", tainted";
  return text;
}

}  // namespace xtune::store
