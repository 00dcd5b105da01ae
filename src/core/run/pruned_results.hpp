// Configurations that lost a race, and which of them must be measured in full after all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/record/record.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// A pruned result shows only that its configuration was slower than the incumbent at that time. Another run's
/// incumbent may have been faster than the best of this run, and an incumbent may turn out to be wrong later.
/// Therefore, before the finals each pruned result is compared with the best of this run: if its samples do not show it
/// to be slower, it is doubtful, and its configuration is measured in full, the one with the minimum sample first.
/// Those that lost again are kept separately: they are compared once more only if the best was refuted (revive).
class PrunedResults {
 public:
  struct Pruned {
    std::uint64_t index;                ///< in the space
    std::optional<std::size_t> record;  ///< index in the run's records; unset: it is the row
    store::GrowingRecords::Row row;
  };

  void add(std::uint64_t index, std::size_t record) { open_.push_back({index, record, {}}); }
  void add(std::uint64_t index, const store::GrowingRecords::Row& row) { open_.push_back({index, std::nullopt, row}); }
  /// Removes and returns the most promising doubtful one. lost: whether it is slower than the best of this run.
  /// records: those of the run.
  std::optional<Pruned> take_doubtful(const std::function<bool(const Pruned&)>& lost,
                                      const std::vector<record::Record>& records);
  /// Makes all of them doubtful again, except those whose record is no longer pruned.
  void revive(const std::vector<record::Record>& records);

 private:
  std::vector<Pruned> open_;
  std::vector<Pruned> lost_;  ///< slower than the best of this run, too
};

}  // namespace xtune::run
