// Groups a store's records by their meaning for a run. Adds only a few bytes for each of up to a million rows.
#include "core/run/stored_results.hpp"

#include <bit>

#include "core/record/best.hpp"
#include "core/record/key_fit.hpp"
#include "core/record/stored_shortage.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

struct Facts {
  Outcome outcome;
  bool tainted;
  std::int64_t unix_time_ms;
};

Facts facts_of(const store::StoredConfig& row) { return {row.outcome, row.tainted, row.unix_time_ms}; }
Facts facts_of(const record::Record& record) { return {record.outcome, !record.tainted.empty(), record.unix_time_ms}; }

/// Of results of the race, how much one says: a full and clean one most, a disturbed one that was dropped least.
int weight_of(const Facts& facts) { return (facts.outcome == Outcome::ok) + !facts.tainted; }

bool supersedes(const Facts& later, const Facts& earlier) {
  const auto timed = [](const Facts& facts) {
    return facts.outcome == Outcome::ok || facts.outcome == Outcome::pruned;
  };
  if (timed(later) && timed(earlier) && weight_of(later) != weight_of(earlier))
    return weight_of(later) > weight_of(earlier);
  return earlier.unix_time_ms <= later.unix_time_ms;
}

// Finals and measurements of the device's drift are not first measurements. Wrong results concern the configuration
// itself, and no earlier record of it outweighs them.
bool answers(const store::StoredConfig& row) {
  return (!row.drift && !row.finals) || row.outcome == Outcome::wrong_result;
}

std::uint32_t tag_of(const store::KeyDigest& key) {
  return static_cast<std::uint32_t>(store::KeyDigestHash()(key) >> 32);
}

}  // namespace

StoredResults::StoredResults(std::vector<Row> rows) {
  slots_.resize(std::bit_ceil(rows.size() * 2 + 1));
  for (const Row& row : rows) {
    if (row.config->finals) {
      try {
        finals_.push_back(row.view->record_of(*row.config));
      } catch (const Error&) {  // its file was repaired or removed meanwhile
        continue;
      }
    }
    if (!answers(*row.config)) continue;
    Slot& slot = slots_[slot_of(row.config->key)];
    if (slot.place == 0) {
      rows_.push_back(row);
      slot = {static_cast<std::uint32_t>(rows_.size()), tag_of(row.config->key)};
    } else if (Row& known = rows_[slot.place - 1]; supersedes(facts_of(*row.config), facts_of(*known.config))) {
      known = row;
    }
  }
  taken_.resize(rows_.size());
}

std::size_t StoredResults::slot_of(const store::KeyDigest& key) const {
  const std::uint32_t tag = tag_of(key);
  std::size_t slot = store::KeyDigestHash()(key) & (slots_.size() - 1);
  while (slots_[slot].place && (slots_[slot].tag != tag || rows_[slots_[slot].place - 1].config->key != key))
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

std::size_t StoredResults::place_of(const store::KeyDigest& key) const {
  if (rows_.empty()) return 0;
  const std::uint32_t place = slots_[slot_of(key)].place;
  return place == 0 || taken_[place - 1] ? rows_.size() : place - 1;
}

void StoredResults::add(record::Record record) {
  if (record::is_stored_shortage(record)) return;
  if (!record.finals.empty()) finals_.push_back(record);
  if (!record::is_first(record) && record.outcome != Outcome::wrong_result) return;
  const store::KeyDigest key(record.key);
  const Answer known = find(key);
  if (known && !supersedes(facts_of(record), known.record ? facts_of(*known.record) : facts_of(*known.row.config)))
    return;
  take(key);
  records_.insert_or_assign(key, std::move(record));
}

StoredResults::Answer StoredResults::find(const store::KeyDigest& key) const {
  if (!records_.empty())
    if (const auto found = records_.find(key); found != records_.end())
      return {&found->second, {}, found->second.outcome, found->second.unix_time_ms};
  const std::size_t place = place_of(key);
  if (place == rows_.size()) return {};
  return {nullptr, rows_[place], rows_[place].config->outcome, rows_[place].config->unix_time_ms};
}

void StoredResults::take(const store::KeyDigest& key) {
  records_.erase(key);
  if (const std::size_t place = place_of(key); place != rows_.size()) taken_[place] = true;
}

std::vector<const record::Record*> StoredResults::ok_records(const device::DeviceInfo& device) const {
  std::vector<const record::Record*> found;
  for (const auto& [key, record] : records_)
    if (record.outcome == Outcome::ok && record::same_device(record.device, device) &&
        record::same_driver(record.device, device))
      found.push_back(&record);
  return found;
}

std::vector<StoredResults::Row> StoredResults::ok_rows(const device::DeviceInfo& device) const {
  std::vector<Row> found;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (!taken_[i] && rows_[i].config->outcome == Outcome::ok &&
        record::same_driver(rows_[i].view->device_of(*rows_[i].config), device))
      found.push_back(rows_[i]);
  return found;
}

}  // namespace xtune::run
