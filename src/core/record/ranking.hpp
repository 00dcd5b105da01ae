// The order of records, defined once: for whole records in memory and for the entries of a StoreView.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "xtune/outcome.hpp"

namespace xtune::record {

/// The facts that decide which of two records of one key counts.
struct RankFacts {
  std::string_view key, finals, attempt;
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false;
  std::int64_t unix_time_ms = 0;
  double median_ms = 0;
};

/// Whether a counts rather than b, for records of one key: the newer one, except that a suspect time does not replace a
/// clean one. The time decides between records that are otherwise equal, so that the order in which files are read
/// never matters.
inline bool counts_before(const RankFacts& a, const RankFacts& b) {
  if (a.outcome == Outcome::ok && b.outcome == Outcome::ok && a.tainted != b.tainted) return b.tainted;
  const auto rank = [](const RankFacts& facts) {
    return std::tuple(facts.unix_time_ms, facts.attempt, !facts.finals.empty(), facts.outcome, -facts.median_ms);
  };
  return rank(a) > rank(b);
}

/// Whether a record is a result for its configuration: not a race that was given up, and not a measurement for
/// following the device's drift.
inline bool is_verdict(const RankFacts& facts) { return facts.outcome != Outcome::pruned && !facts.drift; }

/// For each key, the record that counts, among results. In no particular order.
///
/// An Item is a pointer; Access provides facts(item) -> RankFacts and config_text(item).
template <class Access, class Item>
std::vector<Item> current_records(const std::vector<Item>& items) {
  // Open addressing, as there may be millions of keys: a slot has the index of its key's item plus one.
  std::vector<std::uint32_t> slots(std::bit_ceil(items.size() * 2 + 1));
  std::vector<Item> result;
  for (const Item item : items) {
    const RankFacts facts = Access::facts(item);
    if (!is_verdict(facts)) continue;
    std::size_t slot = std::hash<std::string_view>()(facts.key) & (slots.size() - 1);
    while (slots[slot] && Access::facts(result[slots[slot] - 1]).key != facts.key)
      slot = (slot + 1) & (slots.size() - 1);
    if (slots[slot] == 0) {
      result.push_back(item);
      slots[slot] = static_cast<std::uint32_t>(result.size());
    } else if (Item& known = result[slots[slot] - 1]; counts_before(facts, Access::facts(known))) {
      known = item;
    }
  }
  return result;
}

/// The failures that count among items, by configuration; computed at first use. Item and Access as above.
template <class Access, class Item>
class Failures {
 public:
  explicit Failures(std::vector<Item> items) : items_(std::move(items)) {}

  /// Calls visit(failure) for each of a configuration, until it returns true. Returns the last result of visit.
  template <class Visit>
  bool any(const std::string& config, const Visit& visit) {
    if (!found_) find();
    const auto [begin, end] = by_config_.equal_range(config);
    return std::any_of(begin, end, [&](const auto& failure) { return visit(failure.second); });
  }

 private:
  // Most groups have no failure, and few have many, so only their keys are looked up.
  void find() {
    std::unordered_set<std::string_view> keys;
    for (const Item item : items_) {
      const RankFacts facts = Access::facts(item);
      if (facts.outcome != Outcome::ok && facts.outcome != Outcome::pruned) keys.insert(facts.key);
    }
    std::erase_if(items_, [&](Item item) { return !keys.contains(Access::facts(item).key); });
    for (const Item item : current_records<Access>(items_))
      if (Access::facts(item).outcome != Outcome::ok) by_config_.emplace(Access::config_text(item), item);
    items_ = {};
    found_ = true;
  }

  std::vector<Item> items_;
  bool found_ = false;
  std::unordered_multimap<std::string, Item> by_config_;
};

/// Puts the items of one finals, within the positions that they occupy, into the order of the finals, and moves the
/// winner before everything that was measured until then: configurations that were not in the finals were too slow, and
/// one that was slower on another day does not become faster. decided(item): whether the finals of the item decide
/// here; settled(items of one finals): the items in the order of FinalsResult.
template <class Access, class Item, class Decided, class Settled>
void settle_finals(std::vector<Item>& order, const Decided& decided, const Settled& settled) {
  std::set<std::pair<std::int64_t, std::string_view>> held;  // newest last
  for (const Item item : order)
    if (decided(item)) held.emplace(Access::facts(item).unix_time_ms, Access::facts(item).finals);
  for (const auto& [when, id] : held) {
    std::vector<std::size_t> places;
    std::vector<Item> met;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (Access::facts(order[i]).finals == id) {
        places.push_back(i);
        met.push_back(order[i]);
      }
    const std::vector<Item> result = met.size() > 1 ? settled(met) : met;
    for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = result[i];
    const auto winner = order.begin() + static_cast<std::ptrdiff_t>(places.front());
    const RankFacts won = Access::facts(*winner);
    const auto place = std::find_if(order.begin(), winner, [&](const Item item) {
      const RankFacts facts = Access::facts(item);
      return facts.tainted == won.tainted && facts.unix_time_ms <= won.unix_time_ms;
    });
    std::rotate(place, winner, winner + 1);
  }
}

/// The ok items that count, best first: clean ones before tainted ones, by score (items whose score is not finite are
/// omitted), equal ones by the configuration's text, then by key; finals are applied last (settle_finals).
template <class Access, class Item, class Score, class Decided, class Settled>
std::vector<Item> rank_records(const std::vector<Item>& items, const Score& score, const Decided& decided,
                               const Settled& settled) {
  struct Ranked {
    double score;
    Item item;
    bool tainted;
  };
  std::vector<Ranked> ranks;
  for (const Item item : current_records<Access>(items)) {
    const RankFacts facts = Access::facts(item);
    if (facts.outcome != Outcome::ok) continue;
    const double value = score(item);
    if (std::isfinite(value)) ranks.push_back({value, item, facts.tainted});
  }
  std::sort(ranks.begin(), ranks.end(), [](const Ranked& a, const Ranked& b) {
    if (a.tainted != b.tainted) return b.tainted;
    if (a.score != b.score) return a.score < b.score;
    if (a.item == b.item) return false;
    const auto left = Access::config_text(a.item), right = Access::config_text(b.item);
    return left != right ? left < right : Access::facts(a.item).key < Access::facts(b.item).key;
  });
  std::vector<Item> order;
  order.reserve(ranks.size());
  for (const Ranked& rank : ranks) order.push_back(rank.item);
  settle_finals<Access>(order, decided, settled);
  return order;
}

}  // namespace xtune::record
