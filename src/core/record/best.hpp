// Queries over records: the best configuration, and what ties with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/record/record.hpp"

namespace xtune {

/// What ranks records: a statistic of their time ("median", "min", "mean"), or a score made of it. A plain name will
/// do.
struct Criterion {
  Criterion(const char* name = "median") : statistic(name) {}  // NOLINT(google-explicit-constructor)
  Criterion(std::string name) : statistic(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  std::string statistic;
  /// Less is better; NaN or infinite: the record cannot be ranked. Empty: the time itself.
  std::function<double(const Record&, double time_ms)> score = {};
  double of(const Record& record) const;
};

/// The best ok record and those that cannot be told from it. Points into the records it was made from.
struct Best {
  const Record* record = nullptr;
  /// Those that tied with it in finals, and others whose interval (of the time, or of what the score makes of it)
  /// overlaps its own; in the order of their ranks.
  std::vector<const Record*> ties;
};

/// The ok records, best first: clean ones before tainted ones, by the criterion, equal ones by the configuration's
/// text, so that the same records give the same order. Duplicates of a measurement key count once (the newest; pruned
/// ones never). Who took part in finals stands, among the places of those that did, as FinalsResult says; their winner
/// goes before all that was measured until then (where time alone decides). Points into the records.
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
bool same_device(const DeviceInfo& a, const DeviceInfo& b);

}  // namespace xtune
