// Queries over records: the best configuration, and those that tie with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/criterion.hpp"
#include "core/record/record.hpp"

namespace xtune::record {

/// The best ok record and those that tie with it. Points into the given records.
struct Best {
  const Record* record = nullptr;
  /// Records that tied with it in finals, and others whose interval (of the time, or of the score) overlaps its own; by
  /// rank.
  std::vector<const Record*> ties;
};

/// The ok records, best first: clean ones before tainted ones, then by the criterion, then by the configuration's text,
/// so that the same records give the same order. Duplicates of a measurement key count once (the newest; never pruned
/// ones). Records of finals that decide by this criterion keep their places as a group, in the order of FinalsResult;
/// their winner comes before everything that was measured until then. Points into the records.
std::vector<const Record*> ranked(const std::vector<Record>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(std::vector<Record>&& records, const Criterion& criterion = {}) = delete;
/// The first of them with its ties; nullopt without any ok record. A tainted best ties only with tainted records.
std::optional<Best> best_of(const std::vector<Record>& records, const Criterion& criterion = {});
std::optional<Best> best_of(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::optional<Best> best_of(std::vector<Record>&& records,
                            const Criterion& criterion = {}) = delete;  // the pointers would outlive the records

/// Whether it is the same kind of device through the same backend: records must agree in this to be an exact answer.
bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b);

}  // namespace xtune::record
