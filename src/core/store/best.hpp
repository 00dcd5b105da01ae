// The order of records: the criterion, finals, and how the others compare with the best one.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/measure/finals.hpp"
#include "core/space/value.hpp"
#include "core/store/record.hpp"
#include "xtune/outcome.hpp"

namespace xtune::store {

// The order of records, defined once: for whole records in memory and for the entries of a StoreView.

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

/// Numbers things by their keys, by open addressing, as there may be millions. It does not hold the keys.
template <class Key, class Hash = std::hash<Key>>
class KeyTable {
 public:
  void reserve(std::size_t count) { slots_.assign(std::bit_ceil(2 * count + 2), 0); }
  /// The number of the thing with this key, plus one. 0: there is none, and the caller may set it. count: of all
  /// things; key_of(number): of one of them.
  template <class KeyOf>
  std::uint32_t& of(const Key& key, std::size_t count, const KeyOf& key_of) {
    if (slots_.size() < 2 * (count + 1)) {
      reserve(2 * count);
      for (std::uint32_t i = 0; i < count; ++i) slot(key_of(i), key_of) = i + 1;
    }
    return slot(key, key_of);
  }

 private:
  template <class KeyOf>
  std::uint32_t& slot(const Key& key, const KeyOf& key_of) {
    std::size_t place = Hash()(key) & (slots_.size() - 1);
    while (slots_[place] && key_of(slots_[place] - 1) != key) place = (place + 1) & (slots_.size() - 1);
    return slots_[place];
  }
  std::vector<std::uint32_t> slots_;
};

/// For each key, the record that counts, among results. A tainted time does not if the configuration lost a clean race
/// since. In no particular order.
///
/// An Item is a pointer; Access provides facts(item) -> RankFacts and config_text(item).
template <class Access, class Items>
auto current_records(const Items& items) {
  using Item = std::remove_const_t<typename Items::value_type>;
  KeyTable<std::string_view> numbers;
  numbers.reserve(items.size());
  std::vector<Item> result;
  const auto number_of = [&](std::string_view key) -> std::uint32_t& {
    return numbers.of(key, result.size(), [&](std::uint32_t i) { return Access::facts(result[i]).key; });
  };
  for (const Item item : items) {
    const RankFacts facts = Access::facts(item);
    if (!is_verdict(facts)) continue;
    std::uint32_t& number = number_of(facts.key);
    if (number == 0) {
      result.push_back(item);
      number = static_cast<std::uint32_t>(result.size());
    } else if (Item& known = result[number - 1]; counts_before(facts, Access::facts(known))) {
      known = item;
    }
  }
  const auto is_doubtful = [](const RankFacts& facts) { return facts.outcome == Outcome::ok && facts.tainted; };
  if (std::none_of(result.begin(), result.end(), [&](const Item item) { return is_doubtful(Access::facts(item)); }))
    return result;
  std::vector<bool> lost(result.size());
  for (const Item item : items) {
    const RankFacts facts = Access::facts(item);
    if (facts.outcome != Outcome::pruned || facts.tainted || facts.drift) continue;
    const std::uint32_t number = number_of(facts.key);
    if (number == 0) continue;
    const RankFacts known = Access::facts(result[number - 1]);
    if (is_doubtful(known) && known.unix_time_ms <= facts.unix_time_ms) lost[number - 1] = true;
  }
  std::size_t place = 0;
  std::erase_if(result, [&](const Item) { return lost[place++]; });
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

/// How a finalist compares with another one, round by round.
struct FinalsRatio {
  double value = 1;          ///< its time as a multiple of the other's
  double low = 1, high = 1;  ///< the interval of that
  bool tied = false;         ///< with the fastest
  std::size_t rounds = 0;    ///< that both ran; 0: there is nothing to compare
};

/// The items of one finals in the order of FinalsResult, compared with the first.
template <class Item>
using Settled = std::vector<std::pair<Item, FinalsRatio>>;

/// Adds a measurement. Of those of one key that one run made the newest stays: it measures a configuration again if the
/// first time is in doubt.
template <class Access, class Item>
void add_newest(Item item, std::vector<Item>& items) {
  const RankFacts facts = Access::facts(item);
  const auto same = std::find_if(items.begin(), items.end(), [&](const Item other) {
    const RankFacts known = Access::facts(other);
    return !facts.attempt.empty() && known.attempt == facts.attempt && known.key == facts.key;
  });
  if (same == items.end())
    items.push_back(item);
  else if (Access::facts(*same).unix_time_ms < facts.unix_time_ms)
    *same = item;
}

/// The measurements outside of finals, by key: what a search saw of a configuration.
template <class Access, class Item>
class Searched {
 public:
  /// Of these keys only.
  Searched(const std::vector<Item>& items, const std::unordered_set<std::string_view>& keys) {
    for (const Item item : items) {
      const RankFacts facts = Access::facts(item);
      if (facts.outcome == Outcome::ok && !facts.drift && facts.finals.empty() && keys.contains(facts.key))
        add_newest<Access>(item, by_key_[facts.key]);
    }
  }
  /// Measurements of the keys of both items, the two that are nearest to each other in time: the device may have had
  /// another speed at other times. nullopt: there is none of one of them.
  std::optional<std::pair<Item, Item>> nearest(Item item, Item other) const {
    const auto of_item = by_key_.find(Access::facts(item).key), of_other = by_key_.find(Access::facts(other).key);
    if (of_other == by_key_.end()) return std::nullopt;
    std::optional<std::pair<Item, Item>> found;
    std::int64_t least = 0;
    for (const Item a : of_item == by_key_.end() ? std::vector<Item>{item} : of_item->second)
      for (const Item b : of_other->second) {
        const std::int64_t apart = std::abs(Access::facts(a).unix_time_ms - Access::facts(b).unix_time_ms);
        if (!found || apart < least) found.emplace(a, b), least = apart;
      }
    return found;
  }

 private:
  std::unordered_map<std::string_view, std::vector<Item>> by_key_;
};

/// Puts the items of one finals, within the positions that they occupy, into the order of the finals, and moves the
/// winner before what was measured until then: configurations that were not in the finals were too slow, and one that
/// was slower on another day does not become faster. Not so one that its search found faster than each of them: it was
/// unknown to the run that held the finals, or these are without their winner, which is not among the items. Returns
/// the results of rules.settled, one for each finals of several items. items: as in rank_records, for what was seen
/// outside of finals.
template <class Access, class Item, class Rules>
std::vector<Settled<Item>> settle_finals(std::vector<Item>& order, const std::vector<Item>& items, const Rules& rules) {
  std::vector<Settled<Item>> results;
  std::set<std::pair<std::int64_t, std::string_view>> held;  // newest last
  std::unordered_set<std::string_view> keys;
  for (const Item item : order) {
    const RankFacts facts = Access::facts(item);
    if (!facts.finals.empty()) keys.insert(facts.key);
    if (rules.decided(item)) held.emplace(facts.unix_time_ms, facts.finals);
  }
  if (held.empty()) return results;
  const Searched<Access, Item> searched(items, keys);
  const auto score = [&](Item item) { return rules.score(item, rules.time_as_taken(item)); };
  std::vector<Item> lost;  // finalists that did not win
  for (const auto& [when, id] : held) {
    std::vector<std::size_t> places;
    std::vector<Item> met;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (Access::facts(order[i]).finals == id) {
        places.push_back(i);
        met.push_back(order[i]);
      }
    if (met.size() > 1) {
      const Settled<Item>& settled = results.emplace_back(rules.settled(met));
      for (std::size_t i = 0; i < places.size(); ++i) {
        order[places[i]] = settled[i].first;
        if (i > 0) lost.push_back(settled[i].first);
      }
    }
    const auto winner = order.begin() + static_cast<std::ptrdiff_t>(places.front());
    const RankFacts won = Access::facts(*winner);
    const auto is_faster = [&](Item item) {
      // Under another key, too: of the same configuration with another seed, say.
      const auto is_same = [&](const Item other) { return Access::same_config(item, other); };
      if (is_same(*winner) || std::any_of(lost.begin(), lost.end(), is_same)) return false;
      const auto is_newer = [&](const Item other) {
        return Access::facts(other).unix_time_ms > Access::facts(item).unix_time_ms && is_same(other);
      };
      if (std::any_of(order.begin(), order.end(), is_newer)) return false;
      std::size_t slower = 0;
      for (const Item finalist : met)
        if (const auto both = searched.nearest(item, finalist)) {
          if (!(score(both->first) < score(both->second))) return false;
          ++slower;
        }
      return slower > 0;
    };
    const auto place = std::find_if(order.begin(), winner, [&](const Item item) {
      const RankFacts facts = Access::facts(item);
      return facts.tainted == won.tainted && facts.unix_time_ms <= won.unix_time_ms && !is_faster(item);
    });
    std::rotate(place, winner, winner + 1);
  }
  return results;
}

/// Puts the times of one problem's items on one scale, that of the best one's time. A device changes its speed by more
/// than configurations differ, within minutes and between days. Times are therefore compared only beside each other: an
/// item that met the best one in its finals by the ratio of their rounds, any other by the measurement of the best
/// one's configuration outside of finals that is nearest in time, and an item of other finals through their winner.
template <class Access, class Item, class Rules>
class Scale {
 public:
  /// current: one item for each key, in any order. finals: of these, by settle_finals.
  Scale(const std::vector<Item>& items, const std::vector<Item>& current, Item best,
        const std::vector<Settled<Item>>& finals, const Rules& rules)
      : rules_(rules), best_(best) {
    for (const Item item : current)
      if (rules.decided(item)) searched_.emplace(Access::facts(item).key, item);
    for (const Settled<Item>& settled : finals) add_finals(settled);
    for (const Item item : items) {
      const RankFacts facts = Access::facts(item);
      if (facts.outcome != Outcome::ok || facts.drift || !facts.finals.empty()) continue;
      if (!(facts.median_ms > 0)) continue;
      if (Access::same_config(item, best)) add_newest<Access>(item, anchors_);
      const auto finalist = searched_.find(facts.key);
      if (finalist == searched_.end()) continue;
      const RankFacts known = Access::facts(finalist->second);
      if (!known.finals.empty() || known.unix_time_ms < facts.unix_time_ms) finalist->second = item;
    }
    const bool any_clean =
        std::any_of(anchors_.begin(), anchors_.end(), [](const Item item) { return !Access::facts(item).tainted; });
    if (any_clean) std::erase_if(anchors_, [](const Item item) { return Access::facts(item).tainted; });
  }

  /// The ratio to the best one by the rounds of their finals, for any ok item of a key; null: they did not meet.
  const FinalsRatio* met(Item item) const {
    const Finalist* const finalist = finalist_of(item);
    return finalist && finalist->other == best_ ? &finalist->ratio : nullptr;
  }
  /// The measurement of the best one's configuration that is nearest in time, outside of finals; null: there is none.
  const Item* anchor(Item item) const {
    const std::int64_t when = Access::facts(item).unix_time_ms;
    const auto nearest = std::min_element(anchors_.begin(), anchors_.end(), [&](const Item a, const Item b) {
      return std::abs(Access::facts(a).unix_time_ms - when) < std::abs(Access::facts(b).unix_time_ms - when);
    });
    return nearest == anchors_.end() ? nullptr : &*nearest;
  }
  /// The measurement to compare with the anchor: for an item of finals its configuration's newest one outside of
  /// finals, if there is one, else the item itself.
  Item beside_anchor(Item item) const {
    const RankFacts facts = Access::facts(item);
    const auto found = facts.finals.empty() ? searched_.end() : searched_.find(facts.key);
    return found == searched_.end() ? item : found->second;
  }
  /// The item's time on the scale; as measured if nothing relates it to the best one.
  double time(Item item) const {
    if (item == best_) return rules_.time(item);
    const Finalist* const finalist = finalist_of(item);
    if (!finalist) return time_by_anchor(item);
    return finalist->ratio.value * (finalist->other == best_ ? rules_.time(best_) : time_by_anchor(finalist->other));
  }

 private:
  struct Finalist {
    FinalsRatio ratio;  ///< to the other's time
    Item other;         ///< the best one if it took part, else the winner
  };

  void add_finals(const Settled<Item>& settled) {
    Item other = settled.front().first;
    double unit = 1;
    for (const auto& [item, ratio] : settled)
      if (item == best_ && ratio.rounds > 0) other = item, unit = 1 / ratio.value;
    for (const auto& [item, ratio] : settled) {
      if (ratio.rounds == 0) continue;
      Finalist& finalist = finalists_.emplace(Access::facts(item).key, Finalist{ratio, other}).first->second;
      finalist.ratio.value *= unit, finalist.ratio.low *= unit, finalist.ratio.high *= unit;
    }
  }

  const Finalist* finalist_of(Item item) const {
    const RankFacts facts = Access::facts(item);
    // The best one's own measurements outside of finals are anchors.
    const bool is_anchor = facts.finals.empty() && facts.key == Access::facts(best_).key && !anchors_.empty();
    const auto found = facts.outcome == Outcome::ok && !is_anchor ? finalists_.find(facts.key) : finalists_.end();
    return found == finalists_.end() ? nullptr : &found->second;
  }

  double time_by_anchor(Item item) const {
    const Item beside = beside_anchor(item);
    const Item* const by = anchor(beside);
    // By their medians: an outlier in a mean says nothing about the device's speed.
    return by ? rules_.time(beside) * (Access::facts(best_).median_ms / Access::facts(*by).median_ms)
              : rules_.time(item);
  }

  Rules rules_;
  Item best_;
  std::unordered_map<std::string_view, Finalist> finalists_;  ///< by key
  std::vector<Item> anchors_;
  std::unordered_map<std::string_view, Item> searched_;  ///< for items of finals: by key
};

/// The ok items that count, best first; see rank_records.
template <class Access, class Item, class Rules>
struct Ranking {
  std::vector<Item> order;
  std::optional<Scale<Access, Item, Rules>> scale;  ///< unset if nothing passed
};

/// An item with its score; the order is that of scores as measured.
template <class Access, class Item>
struct RankedItem {
  double score;
  Item item;
  bool tainted;

  bool operator<(const RankedItem& other) const {
    if (tainted != other.tainted) return other.tainted;
    if (score != other.score) return score < other.score;
    if (item == other.item) return false;
    const auto left = Access::config_text(item), right = Access::config_text(other.item);
    return left != right ? left < right : Access::facts(item).key < Access::facts(other.item).key;
  }
};

/// Calls visit(RankedItem) for the ok items with finite scores. current: one item for each key.
template <class Access, class Item, class Rules, class Visit>
void each_scored(const std::vector<Item>& current, const Rules& rules, const Visit& visit) {
  for (const Item item : current) {
    const RankFacts facts = Access::facts(item);
    if (facts.outcome != Outcome::ok) continue;
    const double value = rules.score(item, rules.time(item));
    if (std::isfinite(value)) visit(RankedItem<Access, Item>{value, item, facts.tainted && rules.counts_taint()});
  }
}

/// The ok items that count: the best one, then by score on its scale, clean ones before tainted ones, equal ones by the
/// configuration's text, then by key. Items whose score is not finite are omitted. Which one is the best is decided by
/// the finals (settle_finals), else by the scores as measured. Rules has, for items:
///   time(item)           the ranking statistic of its time
///   time_as_taken(item)  the same before times were put on one scale
///   counts_taint()       whether what disturbed the device says anything: not if time does not count
///   score(item, time)    the value to rank by, less is better, if the statistic were this
///   decided(item)        whether it is from finals that decide here
///   settled(items)       of one finals: Settled
template <class Access, class Item, class Rules>
Ranking<Access, Item, Rules> rank_records(const std::vector<Item>& items, const Rules& rules) {
  using Ranked = RankedItem<Access, Item>;
  const std::vector<Item> current = current_records<Access>(items);
  std::vector<Ranked> ranks;
  each_scored<Access>(current, rules, [&](const Ranked& rank) { ranks.push_back(rank); });
  std::sort(ranks.begin(), ranks.end());
  Ranking<Access, Item, Rules> ranking;
  for (const Ranked& rank : ranks) ranking.order.push_back(rank.item);
  if (ranks.empty()) return ranking;
  const auto finals = settle_finals<Access>(ranking.order, items, rules);
  ranking.scale.emplace(items, current, ranking.order.front(), finals, rules);
  ranks.clear();
  for (const Item item : ranking.order)
    ranks.push_back(
        {rules.score(item, ranking.scale->time(item)), item, Access::facts(item).tainted && rules.counts_taint()});
  // Equal ones keep the order of their finals.
  std::stable_sort(ranks.begin() + 1, ranks.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair(a.tainted, a.score) < std::pair(b.tainted, b.score);
  });
  for (std::size_t i = 0; i < ranks.size(); ++i) ranking.order[i] = ranks[i].item;
  return ranking;
}

/// The items whose keys are not among those of the first ones in the order.
template <class Access, class Item>
std::vector<Item> without_first(std::vector<Item> items, const std::vector<Item>& order, std::size_t first) {
  std::unordered_set<std::string_view> keys;
  for (std::size_t i = 0; i < first; ++i) keys.insert(Access::facts(order[i]).key);
  std::erase_if(items, [&](const Item item) { return keys.contains(Access::facts(item).key); });
  return items;
}

/// Access to a whole record for rankings.
struct RecordAccess {
  static RankFacts facts(const Record* record) {
    return {record->key,   record->finals,       record->attempt,       record->outcome, !record->tainted.empty(),
            record->drift, record->unix_time_ms, record->time_ms.median};
  }
  static bool same_config(const Record* a, const Record* b) { return a->config == b->config; }
  static std::string config_text(const Record* record) { return space::bindings_text(record->config); }
};

// The criterion by which records are ranked.

/// A statistic of a record's time, or a score made of it.
struct Criterion {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Criterion(measure::Statistic by = measure::Statistic::median) : statistic(by) {}
  measure::Statistic statistic;
  /// Less is better; NaN or infinity: the record cannot be ranked. Empty: use the time.
  std::function<double(const Record&, double time_ms)> score = {};
  std::string objective = "time_ms";  ///< the objective in words
  bool times = true;                  ///< whether time counts at all: only then do finals make sense
  std::string recorded = {};          ///< of recorded_criterion: finals_by() as the records have it

  double at(const Record& record, double time_ms) const { return score ? score(record, time_ms) : time_ms; }
  double of(const Record& record) const;
  /// The range of the value, given the interval of the time and the statistic; `stretch` multiplies the upper end.
  std::pair<double, double> interval(const Record& record, double stretch = 1) const;

  /// "mean time_s * registers": the value that finals compare, which is also a condition for taking part. Empty: the
  /// median of the time.
  std::string finals_by() const;
  /// Whether the record is from finals with this criterion.
  bool decided_by(const Record& record) const;
};

/// The criterion of the run that made this record, where its spec is not at hand: by what records say of themselves.
Criterion recorded_criterion(const Record& newest);

/// The rules of rank_records for whole records.
struct RecordRules {
  Criterion criterion;

  double time(const Record* record) const;
  double time_as_taken(const Record* record) const;
  bool counts_taint() const noexcept { return criterion.times; }
  double score(const Record* record, double time_ms) const;
  bool decided(const Record* record) const { return criterion.decided_by(*record); }
  Settled<const Record*> settled(const std::vector<const Record*>& met) const;
};

/// Records that outlive what is made of them.
struct RecordPointers : std::vector<const Record*> {
  // NOLINTNEXTLINE(google-explicit-constructor)
  RecordPointers(std::vector<const Record*> records) : vector(std::move(records)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  RecordPointers(const std::vector<Record>& records) {
    for (const Record& record : records) push_back(&record);
  }
  RecordPointers(std::vector<Record>&&) = delete;
};

// Finals as records: the candidates for finals, and the results of finals that were held.

/// The records that may be the best, up to `most` of `ranked`: those whose interval begins before the end of the first
/// one's, with an addition to its time, since a device changes its speed: 5 %, and half of the time if the two were
/// measured by different runs or more than an hour apart. At least two, if the second one is within half of the time.
/// By their values, tainted ones among clean ones. Finals run in one process, so those that changed theirs are not
/// among them, unless all did. Fewer than two need no finals.
std::vector<const Record*> finalists_of(const std::vector<const Record*>& ranked, std::size_t most,
                                        const Criterion& criterion = {});

/// Whether tainted finals count as an answer.
enum class Tainted { never, too };

/// The ids of finals in which all of these configurations (by measurement key) met, perhaps with others, including
/// those that failed: untainted ones, newest first, then the tainted ones if they count.
std::vector<std::string> finals_of(const std::vector<const Record*>& records, const std::vector<std::string>& keys,
                                   Tainted tainted);

/// By how much the first one's time may be too low for another record, as a factor: see finalists_of.
inline constexpr double finals_drift = 1.05, finals_drift_of_days = 1.5;
/// The one of these that holds for two measurements: the first within a run and an hour.
double finals_drift_between(const RankFacts& a, const RankFacts& b);

/// The result of judge_finals for the records of one finals, with the criterion's value of each round's time. Ties
/// always have the same order, so that repeated finals have the same winner: among the fastest and its equals, clean
/// records come before tainted ones, then fewer spilled bytes, fewer registers, less static shared memory, then the
/// configuration's text. Other tied records follow by the criterion, then the slower ones.
class FinalsResult {
 public:
  explicit FinalsResult(const std::vector<const Record*>& records, const Criterion& criterion = {});
  const std::vector<const Record*>& order() const noexcept { return order_; }  ///< failures last
  bool tied(const Record& record) const;                                       ///< or is the fastest itself
  /// The record's values compared with those of the fastest, round by round: 1 for the fastest itself. nullopt: it
  /// failed, or the values have no ratios.
  std::optional<measure::PairedRatio> ratio_to_fastest(const Record& record) const;
  bool decided() const noexcept { return decided_; }
  std::size_t rounds() const noexcept { return rounds_; }
  /// Each of order() with its time compared with that of the first one, round by round.
  Settled<const Record*> ratios() const;
  /// measure::finals_drift of the times.
  double drift() const;

 private:
  std::vector<const Record*> order_;
  std::map<const Record*, std::vector<double>> values_;  ///< comparable ones, by round
  const Record* fastest_ = nullptr;
  std::size_t tied_ = 0;  ///< the first tied_ of order_ are tied
  std::size_t rounds_ = 0;
  bool decided_ = false;
  measure::Statistic statistic_;
};

// Queries over records: the best configuration, and how the others compare with it.

/// How a record compares with the best one, by measurements that were taken beside each other.
struct Ratio {
  double value = 1;          ///< its time as a multiple of the best one's
  double low = 1, high = 1;  ///< 95 % interval; of finalists, those of all hold together with that probability
  bool met = false;          ///< by the rounds of finals
  /// Not told apart from the best one, or equally good. Never so for another record of its configuration, or if one of
  /// the two is tainted and the other is not.
  bool tied = false;
};

/// The records of one problem on one kind of device, compared. Points into the records, which must outlive it.
class Standings {
 public:
  explicit Standings(const RecordPointers& records, const Criterion& criterion = {});

  /// The ok records: the best, then by the criterion on its scale, clean ones before tainted ones; equal ones by the
  /// configuration's text, so that the same records give the same order. Duplicates of a measurement key count once
  /// (the newest; never pruned ones). The best is the winner of finals that decide by this criterion, unless something
  /// that was measured later is better.
  const std::vector<const Record*>& order() const noexcept { return ranking_.order; }
  bool empty() const noexcept { return order().empty(); }
  const Record& best() const { return *order().front(); }
  /// Whether they are ranked only by their times.
  bool by_time() const noexcept { return !rules_.criterion.score; }
  /// Those of order() that tie with the best, without it.
  const std::vector<const Record*>& ties() const noexcept { return ties_; }
  /// For any of the records with a time; nullopt: it has none, or the best has none. The minimum of a pruned record's
  /// samples counts as its time.
  std::optional<Ratio> ratio(const Record& record) const;
  /// What to multiply a record's times by to have them on the scale of the best one's: as if it had been measured
  /// beside the best one. 1 if that is unknown.
  double factor(const Record& record) const;
  /// By how much slower the device was in the finals of the best one than when the search measured the finalists: the
  /// median of their factors. 1: there were no finals, or no other measurements.
  double slowdown() const;
  /// The search's measurement of a finalist; without one, or for other records, the record itself.
  const Record& searched(const Record& record) const { return *ranking_.scale->beside_anchor(&record); }

 private:
  RecordRules rules_;
  Ranking<RecordAccess, const Record*, RecordRules> ranking_;
  std::vector<const Record*> ties_;
};

/// The best of the Standings and its ties; nullopt without any ok record.
struct Best {
  const Record* record = nullptr;
  std::vector<const Record*> ties;
};
std::optional<Best> best_of(const RecordPointers& records, const Criterion& criterion = {});

/// Multiplies the times of all these records by their factors, and gives them the best one's time of the reference. The
/// samples remain as they were taken. Standings of the result have the same order and ratios.
void put_on_one_scale(const std::vector<Record*>& records, const Standings& standings);

/// Standings::order.
std::vector<const Record*> ranked(const RecordPointers& records, const Criterion& criterion = {});

/// Whether it is the same kind of device through the same backend: records must agree in this to be an exact answer.
bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b);
/// A text that is equal for records of one kernel, problem and kind of device.
std::string group_of(const Record& record);

}  // namespace xtune::store
