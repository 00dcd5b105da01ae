// The order of records, written once: for whole records in memory and for what a StoreView keeps of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "xtune/outcome.hpp"

namespace xtune {

/// What decides which of two records of one key counts.
struct RankFacts {
  std::string_view key, finals, attempt;
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false;
  std::int64_t unix_time_ms = 0;
  double median_ms = 0;
};

/// Whether a counts rather than b, of one key: the newer one, but a suspect time says nothing against a clean one. Time
/// decides between those that nothing else tells apart, so that the order in which files are read never does.
inline bool counts_before(const RankFacts& a, const RankFacts& b) {
  if (a.outcome == Outcome::ok && b.outcome == Outcome::ok && a.tainted != b.tainted) return b.tainted;
  const auto rank = [](const RankFacts& facts) {
    return std::tuple(facts.unix_time_ms, facts.attempt, !facts.finals.empty(), facts.outcome, -facts.median_ms);
  };
  return rank(a) > rank(b);
}

/// Of each key the record that counts, where a race given up says nothing against a full measurement, and what was
/// measured to follow the device's drift says nothing of the configuration. In no order.
///
/// An Item is a pointer; Access tells of it: facts(item) -> RankFacts and config_text(item).
template <class Access, class Item>
std::vector<Item> current_records(const std::vector<Item>& items) {
  std::unordered_map<std::string_view, std::size_t> by_key;
  by_key.reserve(items.size());
  std::vector<Item> result;
  for (const Item item : items) {
    const RankFacts facts = Access::facts(item);
    if (facts.outcome == Outcome::pruned || facts.drift) continue;
    const auto [place, is_new] = by_key.emplace(facts.key, result.size());
    if (is_new)
      result.push_back(item);
    else if (counts_before(facts, Access::facts(result[place->second])))
      result[place->second] = item;
  }
  return result;
}

/// Puts those that met in finals, among the places that they have, into the order of their finals; and the winner
/// before all that had been measured by then, for what was not invited was too slow, and what was slower on another day
/// is not faster for it. decided(item): whether the finals that it took part in decide here; settled(items of one
/// finals): those items in the order that FinalsResult gives them.
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
/// left out), equal ones by the configuration's text, then by key; finals settled last, as settle_finals has it.
template <class Access, class Item, class Score, class Decided, class Settled>
std::vector<Item> rank_records(const std::vector<Item>& items, const Score& score, const Decided& decided,
                               const Settled& settled) {
  using ConfigText = decltype(Access::config_text(std::declval<Item>()));
  struct Rank {
    bool tainted;
    double score;
    ConfigText config;
    std::string_view key;
    Item item;
  };
  std::vector<Rank> ranks;
  for (const Item item : current_records<Access>(items)) {
    const RankFacts facts = Access::facts(item);
    if (facts.outcome != Outcome::ok) continue;
    const double value = score(item);
    if (std::isfinite(value)) ranks.push_back({facts.tainted, value, Access::config_text(item), facts.key, item});
  }
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
    return std::tie(a.tainted, a.score, a.config, a.key) < std::tie(b.tainted, b.score, b.config, b.key);
  });
  std::vector<Item> order;
  order.reserve(ranks.size());
  for (const Rank& rank : ranks) order.push_back(rank.item);
  settle_finals<Access>(order, decided, settled);
  return order;
}

}  // namespace xtune
