// Queries over records: which is fastest.
#include "core/record/best.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/record/finals.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune {

namespace {

// Whether a counts rather than b, of one key: the newer one, but a suspect time says nothing against a clean one.
bool counts_before(const Record& a, const Record& b) {
  if (a.outcome == Outcome::ok && b.outcome == Outcome::ok && a.tainted.empty() != b.tainted.empty())
    return a.tainted.empty();
  return std::tuple(a.unix_time_ms, a.attempt, !a.finals.empty()) >
         std::tuple(b.unix_time_ms, b.attempt, !b.finals.empty());
}

// The records that count: of each key the newest, where a race given up says nothing against a full measurement, and
// what was measured to follow the device's drift says nothing of the configuration.
std::vector<const Record*> current(const std::vector<const Record*>& records) {
  std::map<std::string_view, const Record*> by_key;
  for (const Record* record : records) {
    if (record->outcome == Outcome::pruned || record->drift) continue;
    const auto [kept, is_new] = by_key.emplace(record->key, record);
    if (!is_new && counts_before(*record, *kept->second)) kept->second = record;
  }
  std::vector<const Record*> result;
  for (const auto& [key, record] : by_key) result.push_back(record);
  return result;
}

std::vector<const Record*> pointers_to(const std::vector<Record>& records) {
  std::vector<const Record*> pointers;
  for (const Record& record : records) pointers.push_back(&record);
  return pointers;
}

// Puts those that met in finals, among the places that they have, into the order of their finals; and the winner before
// all that had been measured by then, for what was not invited was too slow, and what was slower on another day is not
// faster for it.
void settle_finals(std::vector<const Record*>& order, const Criterion& criterion) {
  std::set<std::pair<std::int64_t, std::string_view>> held;  // newest last
  for (const Record* record : order)
    if (criterion.decided_by(*record)) held.emplace(record->unix_time_ms, record->finals);
  for (const auto& [when, id] : held) {
    std::vector<std::size_t> places;
    std::vector<const Record*> met;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i]->finals == id) {
        places.push_back(i);
        met.push_back(order[i]);
      }
    const std::vector<const Record*> result = FinalsResult(met, criterion).order();
    for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = result[i];
    const auto winner = order.begin() + static_cast<std::ptrdiff_t>(places.front());
    const auto place = std::find_if(order.begin(), winner, [&](const Record* record) {
      return record->tainted.empty() == (*winner)->tainted.empty() && record->unix_time_ms <= (*winner)->unix_time_ms;
    });
    std::rotate(place, winner, winner + 1);
  }
}

std::vector<const Record*> ranked_among(const std::vector<const Record*>& records, const Criterion& criterion) {
  std::vector<const Record*> good = current(records);
  std::erase_if(good, [&](const Record* record) {
    return record->outcome != Outcome::ok || record->time_ms.count == 0 || !std::isfinite(criterion.of(*record));
  });
  struct Rank {
    bool tainted;
    double score;
    std::string config;
    std::string_view key;
    auto operator<=>(const Rank&) const = default;
  };
  std::map<const Record*, Rank> ranks;
  for (const Record* record : good)
    ranks[record] = {!record->tainted.empty(), criterion.of(*record), bindings_text(record->config), record->key};
  std::sort(good.begin(), good.end(), [&](const Record* a, const Record* b) { return ranks[a] < ranks[b]; });
  settle_finals(good, criterion);
  return good;
}

std::optional<Best> best_among(const std::vector<const Record*>& records, const Criterion& criterion) {
  const std::vector<const Record*> good = ranked_among(records, criterion);
  if (good.empty()) return std::nullopt;
  Best best{good.front(), {}};
  std::vector<const Record*> met;
  for (const Record* record : good)
    if (criterion.decided_by(*record) && record->finals == best.record->finals) met.push_back(record);
  const FinalsResult finals(met, criterion);
  const double reach = criterion.interval(*best.record).second;
  for (const Record* other : good) {
    if (other->tainted.empty() != best.record->tainted.empty() || other->config == best.record->config) continue;
    const bool decided = std::find(met.begin(), met.end(), other) != met.end();
    if (decided ? finals.tied(*other) : criterion.interval(*other).first <= reach) best.ties.push_back(other);
  }
  return best;
}

}  // namespace

bool same_device(const DeviceInfo& a, const DeviceInfo& b) {
  return std::tie(a.backend, a.vendor, a.arch, a.name, a.compute_units) ==
         std::tie(b.backend, b.vendor, b.arch, b.name, b.compute_units);
}

std::vector<const Record*> ranked(const std::vector<Record>& records, const Criterion& criterion) {
  return ranked_among(pointers_to(records), criterion);
}

std::vector<const Record*> ranked(const std::vector<const Record*>& records, const Criterion& criterion) {
  return ranked_among(records, criterion);
}

std::optional<Best> best_of(const std::vector<const Record*>& records, const Criterion& criterion) {
  return best_among(records, criterion);
}

std::optional<Best> best_of(const std::vector<Record>& records, const Criterion& criterion) {
  return best_among(pointers_to(records), criterion);
}

}  // namespace xtune
