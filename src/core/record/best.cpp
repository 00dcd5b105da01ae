// Queries over records: which is fastest.
#include "core/record/best.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/record/finals.hpp"
#include "core/record/record_access.hpp"

namespace xtune::record {

namespace {

std::vector<const Record*> pointers_to(const std::vector<Record>& records) {
  std::vector<const Record*> pointers;
  for (const Record& record : records) pointers.push_back(&record);
  return pointers;
}

std::vector<const Record*> ranked_among(const std::vector<const Record*>& records, const Criterion& criterion) {
  const auto score = [&](const Record* record) {
    return record->time_ms.count == 0 ? HUGE_VAL : criterion.of(*record);
  };
  const auto decided = [&](const Record* record) { return criterion.decided_by(*record); };
  const auto settled = [&](const std::vector<const Record*>& met) { return FinalsResult(met, criterion).order(); };
  return rank_records<RecordAccess>(records, score, decided, settled);
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

bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b) {
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

}  // namespace xtune::record
