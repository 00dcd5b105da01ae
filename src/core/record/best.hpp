// Queries over records: the best configuration, and what ties with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/criterion.hpp"
#include "core/record/record.hpp"

namespace xtune::record {

/// The best ok record and those that tied with it. Points into the records it was made from.
struct Best {
  const Record* record = nullptr;
  /// Those that tied with it in finals, and others whose interval (of the time, or of what the score makes of it)
  /// overlaps its own; in the order of their ranks.
  std::vector<const Record*> ties;
};

/// The ok records, best first: clean ones before tainted ones, by the criterion, equal ones by the configuration's
/// text, so that the same records give the same order. Duplicates of a measurement key count once (the newest; pruned
/// ones never). Who took part in finals that decide by this criterion stands, among the places of those that did, as
/// FinalsResult says; their winner goes before all that was measured until then. Points into the records.
std::vector<const Record*> ranked(const std::vector<Record>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(std::vector<Record>&& records, const Criterion& criterion = {}) = delete;
/// The first of them with its ties; nullopt without any ok record. A tainted best ties with tainted records alone.
std::optional<Best> best_of(const std::vector<Record>& records, const Criterion& criterion = {});
std::optional<Best> best_of(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::optional<Best> best_of(std::vector<Record>&& records,
                            const Criterion& criterion = {}) = delete;  // the pointers would outlive the records

/// The same kind of device through the same backend, whichever one of them: what records must agree in to answer
/// exactly.
bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b);

}  // namespace xtune::record
