// Configurations that lost a race, and which of them are to be measured in full after all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/record/record.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// A pruned result says only that its configuration was slower than the incumbent of that time. Another run's incumbent
/// may have been faster than the best of this run, and an incumbent may be found wrong later. So before the finals each
/// pruned result is held against the best of this run: where its samples do not show it to be slower, it is doubtful,
/// and its configuration is measured in full, the one with the least sample first. Those that lost again are kept
/// apart: they are looked at once more only when the best was refuted (revive).
class PrunedResults {
 public:
  struct Pruned {
    std::uint64_t index;                ///< in the space
    std::optional<std::size_t> record;  ///< its place in the run's records; unset: it is the row
    store::GrowingRecords::Row row;
  };

  void add(std::uint64_t index, std::size_t record) { open_.push_back({index, record, {}}); }
  void add(std::uint64_t index, const store::GrowingRecords::Row& row) { open_.push_back({index, std::nullopt, row}); }
  /// The most promising doubtful one, which is no longer here then. lost: whether it is slower than the best of this
  /// run. records: the run's.
  std::optional<Pruned> take_doubtful(const std::function<bool(const Pruned&)>& lost,
                                      const std::vector<record::Record>& records);
  /// Every one may be doubtful again, but for those whose record is not pruned any more.
  void revive(const std::vector<record::Record>& records);

 private:
  std::vector<Pruned> open_;
  std::vector<Pruned> lost_;  ///< slower than the best of this run, too
};

}  // namespace xtune::run
