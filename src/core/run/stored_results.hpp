// What a store already answers of a run.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/record.hpp"

namespace xtune {

/// The records of one kernel on one architecture, as a run asks for them.
class StoredResults {
 public:
  StoredResults() = default;
  explicit StoredResults(std::vector<Record> records);

  void add(Record record);

  /// What a search is told of this key: the newest record of a first measurement, where one that was pruned says
  /// nothing against a full one. nullptr: nothing.
  const Record* find(const std::string& key) const;
  /// Hands it out, once.
  Record take(const std::string& key);
  /// The ok ones of a problem on this kind of device, with its driver, that were not taken; in no order.
  std::vector<const Record*> ok_of(const Bindings& problem, const DeviceInfo& device) const;
  const std::vector<Record>& finals() const noexcept { return finals_; }  ///< all records of finals

 private:
  std::unordered_map<std::string, Record> first_;
  std::vector<Record> finals_;
};

}  // namespace xtune
