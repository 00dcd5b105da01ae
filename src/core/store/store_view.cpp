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
  double time_as_taken(const StoredConfig* config) const { return time(config); }
  bool counts_taint() const noexcept { return criterion.times; }
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

std::unordered_map<const StoredConfig*, double> scale_factors(std::span<const StoredConfig* const> configs,
                                                              const Criterion& criterion) {
  const ConfigRules rules{criterion};
  const auto ranking = rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules);
  std::unordered_map<const StoredConfig*, double> factors;
  for (const StoredConfig* config : configs) {
    const double own_ms = rules.time(config), factor = ranking.scale ? ranking.scale->time(config) / own_ms : 1;
    factors.emplace(config, own_ms > 0 && std::isfinite(factor) ? factor : 1);
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

/// Finds the nearest problems by a scan over the logarithms of all sizes, which takes a few nanoseconds a problem.
/// Problems have numbers from 0.
class ShapeIndex {
 public:
  explicit ShapeIndex(const std::vector<const Bindings*>& problems) {
    for (std::uint32_t i = 0; i < problems.size(); ++i) {
      std::vector<double> logs;
      Kind& kind = kinds_[kind_of(*problems[i], logs)];
      kind.problems.push_back(i);
      kind.logs.insert(kind.logs.end(), logs.begin(), logs.end());
    }
  }

  /// The problems that shape_distance compares with this one.
  struct Comparable {
    std::vector<std::uint32_t> near;  ///< at least `count` of them, if there are as many: no other one is nearer
    std::vector<std::uint32_t> far;
  };
  Comparable comparable(const Bindings& problem, std::size_t count) const {
    constexpr double rounding = 1e-9;
    std::vector<double> own, distances;
    const auto found = kinds_.find(kind_of(problem, own));
    if (found == kinds_.end()) return {};
    const Kind& kind = found->second;
    const double* log = kind.logs.data();
    for (std::size_t i = 0; i < kind.problems.size(); ++i) {
      double distance = 0;  // NaN if both have an infinite size: shape_distance decides
      for (const double size : own) distance += std::abs(*log++ - size);
      distances.push_back(distance);
    }
    std::vector<double> sorted = distances;
    std::replace_if(
        sorted.begin(), sorted.end(), [](double each) { return std::isnan(each); }, HUGE_VAL);
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count, sorted.size()) - 1);
    std::nth_element(sorted.begin(), last, sorted.end());
    Comparable all;
    for (std::size_t i = 0; i < distances.size(); ++i)
      (distances[i] > *last + rounding ? all.far : all.near).push_back(kind.problems[i]);
    return all;
  }

 private:
  /// Problems with the same names, and the same values for those that are not positive numbers.
  struct Kind {
    std::vector<std::uint32_t> problems;
    std::vector<double> logs;  ///< of the sizes of each
  };
  static std::string kind_of(const Bindings& problem, std::vector<double>& logs) {
    std::string kind;
    for (const auto& [name, value] : problem) {
      const double number = space::number_of(value).value_or(0);
      if (number > 0) logs.push_back(std::log2(number));
      kind += name + (number > 0 ? "\n" : fmt::format("={}:{}\n", value.index(), to_text(value)));
    }
    return kind + std::to_string(logs.size());
  }
  std::unordered_map<std::string, Kind> kinds_;
};

/// Problems that were measured with one backend on one architecture, and the groups of each.
struct ArchIndex {
  std::string backend, arch;
  std::vector<const Bindings*> problems;
  std::vector<std::vector<std::uint32_t>> groups;  ///< of the view, by problem
  std::size_t rows = 0;                            ///< of all these groups
  std::optional<ShapeIndex> shapes;
};

/// Rows and their order, which may be found when it is first asked for.
struct RankedRows {
  ConfigOrder members;  ///< those that may have failed are among them
  std::size_t ranked = 0;
  std::function<const StoredConfig*(std::size_t rank)> at;
  std::function<ConfigOrder(const ConfigOrder& members)> rank;  ///< of fewer
  std::shared_ptr<const HeldRows> held = {};                    ///< to which they point, or null
};

// The interface of choose_ranked for rows.
LookupGroup::Order readable(RankedRows rows) {
  LookupGroup::Order asked;
  asked.left = rows.members.size(), asked.ranked = rows.ranked;
  asked.record = [at = rows.at, read = Record()](std::size_t i) mutable -> const Record& {
    return read = read_record(*at(i));
  };
  asked.device = [at = rows.at](std::size_t i) -> const device::DeviceInfo& { return at(i)->device(); };
  const auto failures = std::make_shared<Failures<ConfigAccess, const StoredConfig*>>(rows.members);
  asked.any_failure = [at = rows.at, failures](std::size_t i, const auto& visit) {
    return failures->any(config_text(*at(i)), [&](const StoredConfig* row) { return visit(read_record(*row)); });
  };
  asked.without_first = [rows = std::move(rows)](std::size_t first) {
    ConfigOrder before;
    for (std::size_t i = 0; i < first; ++i) before.push_back(rows.at(i));
    ConfigOrder members = without_first<ConfigAccess>(rows.members, before, first);
    const auto order = std::make_shared<const ConfigOrder>(rows.rank(members));
    return readable(
        {std::move(members), order->size(), [order](std::size_t i) { return (*order)[i]; }, rows.rank, rows.held});
  };
  return asked;
}

}  // namespace

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

  LookupGroup::Order checked(const Group& group, const LookupRules& rules, const Criterion& criterion) const;
  LookupGroup::Order checked_late(const Group& group, const LookupRules& rules) const;
  void leave_allowed(ConfigOrder& members, const LookupRules& rules,
                     std::map<std::string, std::size_t>& left_out) const;
};

// Sorts blocks of rows by their problems, by the texts of these, and then by device.

namespace {

/// A block with what it is sorted by.
struct PlacedBlock {
  const NamedProblem* problem;  ///< equal ones are one object
  const device::DeviceInfo* device;
  std::size_t number;  ///< in the order of the rows

  bool operator<(const PlacedBlock& other) const {
    // By their texts; 1 and "1" have the same one.
    if (problem != other.problem)
      return std::tie(problem->text, problem->sizes) < std::tie(other.problem->text, other.problem->sizes);
    return std::pair(kind(), number) < std::pair(other.kind(), other.number);
  }
  bool is_in_group_of(const PlacedBlock& other) const { return problem == other.problem && kind() == other.kind(); }

 private:
  /// What same_device() compares.
  std::tuple<std::string_view, std::int64_t, std::string_view, std::string_view, std::string_view> kind() const {
    return {device->name, device->compute_units, device->backend, device->arch, device->vendor};
  }
};

}  // namespace

void HeldRows::add(const RowSet& set, const RowBlock& block, bool keep) {
  held.push_back(set.rows_of(block, keep));
  for (const StoredConfig& row : held.back()->rows) rows.push_back(&row);
}

void StoreView::State::cut() {
  std::vector<PlacedBlock> sorted;
  for (std::size_t i = 0; i < set.blocks.size(); ++i)
    if (const RowBlock& block = set.blocks[i]; !block.sanitized)
      sorted.push_back({&set.problems[block.problem], &set.devices[block.device], i});
  system::sort_in_threads(sorted, 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const RowBlock* const block = &set.blocks[sorted[i].number];
    if (i == 0 || !sorted[i].is_in_group_of(sorted[i - 1])) groups.push_back({block->problem, block->device, i, i, 0});
    blocks.push_back(block);
    groups.back().end = i + 1;
    groups.back().records += block->records;
  }
  if (!options.all) drop_unanswered();
  orders = std::vector<std::atomic<const ConfigOrder*>>(groups.size());
}

/// Removes groups without a ranked record.
void StoreView::State::drop_unanswered() {
  constexpr std::uint64_t grain = 64;
  std::vector<char> ranks(groups.size());
  system::parallel_for(groups.size(), grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::uint64_t answers = 0, ranking = 0;
      for (std::size_t block = groups[i].begin; block < groups[i].end; ++block)
        answers += blocks[block]->answers, ranking += blocks[block]->ranks;
      // A row that does not rank may replace one that does.
      const auto any_passed = [](const ConfigOrder& rows) {
        return std::any_of(rows.begin(), rows.end(), [](const StoredConfig* row) {
          return row->outcome == Outcome::ok && std::isfinite(row->time_ms);
        });
      };
      ranks[i] = ranking > 0 && ((ranking == answers && !set.disturbed) ||
                                 any_passed(current_configs(members_of(groups[i], true).rows)));
    }
  });
  std::size_t place = 0;
  std::erase_if(groups, [&](const Group&) { return !ranks[place++]; });
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
    if (!arch_index) arch_index = &arch_indexes.emplace_back(ArchIndex{device.backend, device.arch, {}, {}, 0, {}});
    // Groups of one problem follow each other.
    if (const Bindings* const sizes = &set.problems[group.problem].sizes;
        arch_index->problems.empty() || arch_index->problems.back() != sizes) {
      arch_index->problems.push_back(sizes);
      arch_index->groups.emplace_back();
    }
    arch_index->groups.back().push_back(i);
    arch_index->rows += group.records;
  }
  for (ArchIndex& arch_index : arch_indexes) arch_index.shapes.emplace(arch_index.problems);
}

void StoreView::State::find_suspects() {
  set.each_row([&](const StoredConfig& row) {
    if (failed_when_run(row.outcome, "")) suspects[config_text(row)];
  });
  if (suspects.empty()) return;
  set.each_row([&](const StoredConfig& row) {
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

// Removes rows that may not be used, in several threads, as there may be millions.
void StoreView::State::leave_allowed(ConfigOrder& members, const LookupRules& rules,
                                     std::map<std::string, std::size_t>& left_out) const {
  constexpr std::uint64_t grain = 4096;
  if (!rules.obstacle) return;
  std::mutex mutex;
  system::parallel_for(members.size(), grain, [&](std::uint64_t begin, std::uint64_t end) {
    Record record;
    std::map<std::string, std::size_t> counts;
    for (const StoredConfig*& row : std::span(members).subspan(begin, end - begin)) {
      if (rules.allows && rules.allows(row->names(), row->values())) continue;
      record.config = config_bindings(*row);
      if (const std::string obstacle = rules.obstacle(record); !obstacle.empty()) ++counts[obstacle], row = nullptr;
    }
    const std::lock_guard lock(mutex);
    for (const auto& [obstacle, count] : counts) left_out[obstacle] += count;
  });
  std::erase(members, nullptr);
}

std::vector<Record> answering(const StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                              const LookupRules& rules, KeyFit worst) {
  std::vector<Record> records;
  for (const StoredConfig* row : answering_rows(view, problem, device, rules, worst))
    records.push_back(read_record(*row));
  return records;
}

ConfigOrder answering_rows(const StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                           const LookupRules& rules, KeyFit worst) {
  ConfigOrder rows = view.members(problem, device, rules.obstacle);
  if (worst != KeyFit::differs && rules.differences)
    std::erase_if(rows, [&](const StoredConfig* row) { return key_fit(rules.differences(read_record(*row))) > worst; });
  return rows;
}

namespace {

/// Failures of a configuration when it ran (failed_when_run) for other problems, with the device's backend and
/// architecture, under keys that hold: the newest of each problem, the nearest problem first. The configuration must
/// have no obstacle.
std::vector<Record> failures_elsewhere(const StoreView& view, const Bindings& config, const Bindings& problem,
                                       const device::DeviceInfo& device, const LookupRules& rules) {
  std::map<std::pair<double, std::string>, Record> newest;
  for (const StoredConfig* row : view.suspect(space::bindings_text(config))) {
    const device::DeviceInfo& own = row->device();
    const std::optional<double> distance = shape_distance(row->problem(), problem);
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

}  // namespace

LookupGroup::Order StoreView::State::checked(const Group& group, const LookupRules& rules,
                                             const Criterion& criterion) const {
  const auto left = std::make_shared<HeldRows>(members_of(group, false));
  std::map<std::string, std::size_t> left_out;
  leave_allowed(left->rows, rules, left_out);
  const auto [first, count] = best_config(left->rows, criterion);
  const auto rank = [criterion](const ConfigOrder& members) { return rank_configs(members, criterion); };
  // Mostly the first one is asked for only.
  const auto at = [=, first = first, all = std::make_shared<ConfigOrder>()](std::size_t i) {
    if (i > 0 && all->empty()) *all = rank(left->rows);
    return i == 0 ? first : (*all)[i];
  };
  LookupGroup::Order order = readable({left->rows, count, at, rank, left});
  order.left_out = std::move(left_out);
  return order;
}

LookupGroup::Order StoreView::State::checked_late(const Group& group, const LookupRules& rules) const {
  const auto may_answer = [&rules](const StoredConfig* row) {
    Record record;
    if (rules.obstacle) record.config = config_bindings(*row);
    return !rules.obstacle || rules.obstacle(record).empty();
  };
  // Rejected rows may have decided the finals of the others.
  const auto rank = [=, by = options.statistic](const ConfigOrder& members) {
    ConfigOrder allowed;
    std::copy_if(members.begin(), members.end(), std::back_inserter(allowed), may_answer);
    return rank_configs(allowed, by);
  };
  const ConfigOrder members = members_of(group, true).rows;
  std::shared_ptr<const ConfigOrder> ranks(std::shared_ptr<void>(), &order(group));
  const bool first_may = ranks->empty() || may_answer(ranks->front());
  if (!first_may) ranks = std::make_shared<const ConfigOrder>(rank(members));
  LookupGroup::Order asked = readable({members, ranks->size(), [ranks](std::size_t i) { return (*ranks)[i]; }, rank});
  if (first_may) asked.may_answer = [=](std::size_t i) { return i == 0 || may_answer((*ranks)[i]); };
  return asked;
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
      for (const std::uint32_t group : arch_index->groups[number])
        counts.other_problem -= groups()[group].records, far += list == &problems.far;
  const auto groups_of = [&](const std::vector<std::uint32_t>& numbers) {
    std::vector<LookupGroup> result;
    for (const std::uint32_t number : numbers)
      for (const std::uint32_t i : arch_index->groups[number]) {
        const device::DeviceInfo& own = set.devices[groups()[i].device];
        const Bindings& sizes = *arch_index->problems[number];
        if (const std::optional<double> distance = shape_distance(sizes, problem))
          result.push_back({&sizes, &own, {*distance, same_device(own, device)}, i});
      }
    const auto rank = [](const LookupGroup& one) { return std::tuple(one.nearness.rank(), one.number); };
    std::sort(result.begin(), result.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return result;
  };
  const auto rank = [&, this](const LookupGroup& group) {
    const Group& own = groups()[group.number];
    return rules.count_obstacles ? state_->checked(own, rules, ranks_by) : state_->checked_late(own, rules);
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
  for (const std::uint32_t same : arch_index->shapes->comparable(problem, 1).near) {
    if (*arch_index->problems[same] != problem) continue;
    for (const std::uint32_t group : arch_index->groups[same])
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

// A record file is only appended to: the view grows with it.

GrowingRecords::GrowingRecords(std::filesystem::path store, std::string arch, std::string kernel,
                               measure::Statistic statistic)
    : store_(std::move(store)), arch_(std::move(arch)), kernel_(std::move(kernel)), statistic_(statistic) {}

void GrowingRecords::refresh() {
  listing_warnings_.clear();
  const std::vector<RecordSource> now = record_files(store_, arch_, kernel_, listing_warnings_);
  const auto is_at = [](const RecordSource& a, const RecordSource& b) { return a.path < b.path; };
  std::vector<RecordSource> further;
  std::set_difference(now.begin(), now.end(), files_.begin(), files_.end(), std::back_inserter(further), is_at);
  const bool none_gone = std::includes(now.begin(), now.end(), files_.begin(), files_.end(), is_at);
  const bool grew = view_ && !files_.empty() && none_gone && view_->grow(further);
  files_ = now;
  if (grew) return;
  StoreView::Options options;
  options.all = true, options.statistic = statistic_;
  view_.reset();
  view_ = StoreView::load(now, options);
}

ConfigOrder GrowingRecords::rows_of(const Bindings& problem, const device::DeviceInfo& device) const {
  if (!view_) return {};
  HeldRows own = view_->read_members(problem, device);
  for (const RowBlock& block : view_->row_set().blocks)
    if (block.sanitized && *block.sizes == problem && same_device(*block.measured_on, device))
      own.add(view_->row_set(), block, true);
  return std::move(own.rows);
}

std::vector<std::string> GrowingRecords::warnings() const {
  std::vector<std::string> all = listing_warnings_;
  if (view_) all.insert(all.end(), view_->warnings().begin(), view_->warnings().end());
  return all;
}

}  // namespace xtune::store
