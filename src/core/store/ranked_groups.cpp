// Ranks with the code that ranks whole records; reads records only for finals, which need their samples.
#include "core/store/ranked_groups.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <tuple>

#include "core/record/best.hpp"
#include "core/record/record.hpp"
#include "system/parallel.hpp"

namespace xtune::store {

namespace {

/// The rules of record::rank_records.
struct ConfigRules {
  record::Criterion criterion;
  std::string finals_by = criterion.finals_by();

  double time(const StoredConfig* config) const { return config->time_ms; }
  double score(const StoredConfig*, double time_ms) const { return time_ms; }
  bool decided(const StoredConfig* config) const {
    return config->is_of_finals() && config->block->finals_by == finals_by;
  }
  std::vector<std::pair<const StoredConfig*, record::FinalsRatio>> settled(const ConfigOrder& met) const {
    std::vector<record::Record> records;
    std::vector<const record::Record*> pointers;
    for (const StoredConfig* config : met) records.push_back(read_record(*config));
    for (const record::Record& record : records) pointers.push_back(&record);
    std::vector<std::pair<const StoredConfig*, record::FinalsRatio>> result;
    for (const auto& [record, ratio] : record::FinalsResult(pointers, criterion).ratios())
      result.emplace_back(met[static_cast<std::size_t>(record - records.data())], ratio);
    return result;
  }
};

}  // namespace

record::RankFacts ConfigAccess::facts(const StoredConfig* config) {
  return {config->key.bytes(), config->block->finals, config->block->attempt, config->outcome,
          config->tainted,     config->drift,         config->unix_time_ms,   config->median_ms};
}

bool ConfigAccess::same_config(const StoredConfig* a, const StoredConfig* b) {
  return a->names() == b->names() && a->values() == b->values();
}

std::string ConfigAccess::config_text(const StoredConfig* config) { return xtune::store::config_text(*config); }

ConfigOrder current_configs(std::span<const StoredConfig* const> configs) {
  return record::current_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()));
}

ConfigOrder rank_configs(std::span<const StoredConfig* const> configs, const record::Criterion& criterion) {
  if (criterion.score) {
    std::vector<record::Record> records;
    for (const StoredConfig* config : configs) records.push_back(read_record(*config));
    ConfigOrder order;
    for (const record::Record* record : record::ranked(records, criterion))
      order.push_back(configs[static_cast<std::size_t>(record - records.data())]);
    return order;
  }
  const ConfigRules rules{criterion};
  return record::rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules).order;
}

std::vector<std::pair<const StoredConfig*, double>> configs_on_one_scale(std::span<const StoredConfig* const> configs,
                                                                         measure::Statistic statistic) {
  const ConfigRules rules{{statistic}};
  const auto ranking = record::rank_records<ConfigAccess>(ConfigOrder(configs.begin(), configs.end()), rules);
  std::vector<std::pair<const StoredConfig*, double>> result;
  for (const StoredConfig* config : ranking.order) result.emplace_back(config, ranking.scale->time(config));
  return result;
}

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

// A problem's text with its first bytes as numbers, so that few comparisons read the text.
struct QuickText {
  std::uint64_t first = 0, second = 0;  ///< 16 bytes, padded with 0
  std::string_view text;
  std::uint64_t types = 0;  ///< of the values: 1 and "1" have the same text

  explicit QuickText(const NamedProblem& problem) : text(problem.text) {
    const auto number = [&](std::size_t from) {
      std::uint64_t bytes = 0;
      for (std::size_t i = from; i < from + 8; ++i)
        bytes = bytes << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
      return bytes;
    };
    first = number(0), second = number(8);
    for (const auto& [name, value] : problem.sizes) types = types << 2 | value.index();
  }
  auto operator<=>(const QuickText&) const = default;
};

std::vector<std::uint32_t> problems_of(const std::vector<NamedProblem>& problems, unsigned threads) {
  std::vector<QuickText> texts;
  texts.reserve(problems.size());
  for (const NamedProblem& problem : problems) texts.emplace_back(problem);
  return places_of(texts, threads);
}

}  // namespace

ConfigGroups::ConfigGroups(const RowSet& rows, measure::Statistic statistic, bool all, unsigned threads)
    : rows_(rows), statistic_(statistic), all_(all) {
  cut(threads);
  orders_ = std::vector<std::atomic<const ConfigOrder*>>(groups_.size());
}

ConfigGroups::~ConfigGroups() {
  for (const auto& order : orders_) delete order.load(std::memory_order_relaxed);
}

template <class Work>
void ConfigGroups::for_each(unsigned threads, const Work& work) const {
  std::vector<std::exception_ptr> failures(groups_.size());
  system::for_each_index(groups_.size(), threads, [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void ConfigGroups::cut(unsigned threads) {
  const std::vector<std::uint32_t> problems = problems_of(rows_.problems, threads), kinds = kinds_of(rows_.devices);
  const auto rank = [&](const RowBlock& block) {
    return std::uint64_t{problems[block.problem]} << 32 | kinds[block.device];
  };
  std::vector<std::pair<std::uint64_t, const RowBlock*>> sorted;
  for (const RowBlock& block : rows_.blocks)
    if (!block.sanitized) sorted.emplace_back(rank(block), &block);
  system::sort_in_threads(sorted, threads);  // blocks of one group by their places, which are in the order of the rows
  for (const auto& [key, block] : sorted) {
    if (groups_.empty() || rank(*blocks_.back()) != key)
      groups_.push_back({block->problem, block->device, blocks_.size(), blocks_.size()});
    blocks_.push_back(block);
    groups_.back().end = blocks_.size();
  }
  if (all_) return;
  std::vector<char> ranks(groups_.size());
  for_each(threads, [&](std::size_t i) {
    std::uint64_t answers = 0, ranking = 0;
    for (std::size_t block = groups_[i].begin; block < groups_[i].end; ++block)
      answers += blocks_[block]->answers, ranking += blocks_[block]->ranks;
    // A row that does not rank may replace one that does.
    const auto passed = [](const StoredConfig* row) {
      return row->outcome == Outcome::ok && std::isfinite(row->time_ms);
    };
    const auto any_passed = [&](const ConfigOrder& rows) { return std::any_of(rows.begin(), rows.end(), passed); };
    ranks[i] = ranking > 0 && (ranking == answers || any_passed(current_configs(members_of(i).rows)));
  });
  std::vector<ConfigGroup> kept;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (ranks[i]) kept.push_back(groups_[i]);
  groups_ = std::move(kept);
}

void HeldRows::add(const RowSet& set, const RowBlock& block, bool keep) {
  held.push_back(set.rows_of(block, keep));
  for (const StoredConfig& row : held.back()->rows) rows.push_back(&row);
}

HeldRows ConfigGroups::members_of(std::size_t group, bool keep) const {
  HeldRows members;
  for (std::size_t i = groups_[group].begin; i < groups_[group].end; ++i) members.add(rows_, *blocks_[i], keep);
  return members;
}

const ConfigOrder& ConfigGroups::order(std::size_t group) const {
  std::atomic<const ConfigOrder*>& place = orders_[group];
  if (const ConfigOrder* const known = place.load(std::memory_order_acquire)) [[likely]]
    return *known;
  auto fresh = std::make_unique<const ConfigOrder>(rank_configs(members_of(group).rows, statistic_));
  const ConfigOrder* known = nullptr;
  if (place.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *known;
}

void ConfigGroups::rank_all(unsigned threads) const {
  for_each(threads, [&](std::size_t i) { order(i); });
}

}  // namespace xtune::store
