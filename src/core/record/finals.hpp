// Finals as records: the candidates for finals, and the results of finals that were held.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/finals.hpp"
#include "core/record/criterion.hpp"
#include "core/record/ranking.hpp"
#include "core/record/record.hpp"

namespace xtune::record {

/// The records that may be the best, up to `most` of `ranked`: those whose interval begins before the end of the first
/// one's, with an addition to its time, since a device changes its speed: 5 %, and half of the time if the two were
/// measured more than an hour apart. By their values, tainted ones among clean ones. Fewer than two need no finals.
std::vector<const Record*> finalists_of(const std::vector<const Record*>& ranked, std::size_t most,
                                        const Criterion& criterion = {});

/// Whether tainted finals count as an answer.
enum class Tainted { never, too };

/// The ids of finals whose records, including failures, are exactly of these configurations (by measurement key), or
/// also of configurations that were found wrong there: untainted ones, newest first, then the tainted ones if they
/// count.
std::vector<std::string> finals_of(const std::vector<const Record*>& records, const std::vector<std::string>& keys,
                                   Tainted tainted);

/// By how much the first one's time may be too low for another record, as a factor: see finalists_of.
inline constexpr double finals_drift = 1.05, finals_drift_of_days = 1.5;

/// The result of judge_finals for the records of one finals, with the criterion's value of each round's time. Ties
/// always have the same order, so that repeated finals have the same winner: among the fastest and its equals, clean
/// records come before tainted ones, then fewer spilled bytes, fewer registers, less static shared memory, then the
/// configuration's text. Other tied records follow by the criterion, then the slower ones.
class FinalsResult {
 public:
  explicit FinalsResult(const std::vector<const Record*>& records, const Criterion& criterion = {});
  const std::vector<const Record*>& order() const noexcept { return order_; }  ///< failures last
  bool tied(const Record& record) const;                                       ///< or is the fastest itself
  /// The record's values compared with those of the fastest, round by round: 1 for the fastest itself. nullopt: it
  /// failed, or the values have no ratios.
  std::optional<measure::PairedRatio> ratio_to_fastest(const Record& record) const;
  bool decided() const noexcept { return decided_; }
  std::size_t rounds() const noexcept { return rounds_; }
  /// Each of order() with its time compared with that of the first one, round by round.
  std::vector<std::pair<const Record*, FinalsRatio>> ratios() const;
  /// measure::finals_drift of the times.
  double drift() const;

 private:
  std::vector<const Record*> order_;
  std::map<const Record*, std::vector<double>> values_;  ///< comparable ones, by round
  const Record* fastest_ = nullptr;
  std::size_t tied_ = 0;  ///< the first tied_ of order_ are tied
  std::size_t rounds_ = 0;
  bool decided_ = false;
  measure::Statistic statistic_;
};

}  // namespace xtune::record
