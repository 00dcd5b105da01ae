// Sorts a store's records by what they say to a run.
#include "core/run/stored_results.hpp"

#include "core/record/best.hpp"
#include "core/record/key_fit.hpp"
#include "core/record/stored_shortage.hpp"

namespace xtune {
namespace {

bool supersedes(const Record& later, const Record& earlier) {
  const bool newer = earlier.unix_time_ms <= later.unix_time_ms;
  if (later.outcome == Outcome::pruned && earlier.outcome == Outcome::ok) return false;
  if (later.outcome == Outcome::ok && earlier.outcome == Outcome::pruned) return true;
  return newer;
}

}  // namespace

StoredResults::StoredResults(std::vector<Record> records) {
  for (Record& record : records) add(std::move(record));
}

void StoredResults::add(Record record) {
  if (is_stored_shortage(record)) return;
  if (!record.finals.empty()) finals_.push_back(record);
  // Wrong results say of the configuration itself what no earlier record of it outweighs.
  if (!is_first(record) && record.outcome != Outcome::wrong_result) return;
  Record& slot = first_[record.key];
  if (slot.key.empty() || supersedes(record, slot)) slot = std::move(record);
}

const Record* StoredResults::find(const std::string& key) const {
  const auto found = first_.find(key);
  return found == first_.end() ? nullptr : &found->second;
}

Record StoredResults::take(const std::string& key) { return std::move(first_.extract(key).mapped()); }

std::vector<const Record*> StoredResults::ok_of(const Bindings& problem, const DeviceInfo& device) const {
  std::vector<const Record*> found;
  for (const auto& [key, record] : first_)
    if (record.outcome == Outcome::ok && record.problem == problem && same_device(record.device, device) &&
        same_driver(record.device, device))
      found.push_back(&record);
  return found;
}

}  // namespace xtune
