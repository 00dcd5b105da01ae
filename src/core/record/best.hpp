// The order of records: the criterion, finals, and how the others compare with the best one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/finals.hpp"
#include "core/record/ranking.hpp"
#include "core/record/record.hpp"

namespace xtune::record {

// The criterion by which records are ranked.

/// A statistic of a record's time, or a score made of it.
struct Criterion {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Criterion(measure::Statistic by = measure::Statistic::median) : statistic(by) {}
  measure::Statistic statistic;
  /// Less is better; NaN or infinity: the record cannot be ranked. Empty: use the time.
  std::function<double(const Record&, double time_ms)> score = {};
  std::string objective = "time_ms";  ///< the objective in words
  bool times = true;                  ///< whether time counts at all: only then do finals make sense

  double at(const Record& record, double time_ms) const { return score ? score(record, time_ms) : time_ms; }
  double of(const Record& record) const;
  /// The range of the value, given the interval of the time and the statistic; `stretch` multiplies the upper end.
  std::pair<double, double> interval(const Record& record, double stretch = 1) const;

  /// "mean time_s * registers": the value that finals compare, which is also a condition for taking part. Empty: the
  /// median of the time.
  std::string finals_by() const;
  /// Whether the record is from finals with this criterion.
  bool decided_by(const Record& record) const;
};

// Finals as records: the candidates for finals, and the results of finals that were held.

/// The records that may be the best, up to `most` of `ranked`: those whose interval begins before the end of the first
/// one's, with an addition to its time, since a device changes its speed: 5 %, and half of the time if the two were
/// measured more than an hour apart. By their values, tainted ones among clean ones. Finals run in one process, so
/// those that changed theirs are not among them, unless all did. Fewer than two need no finals.
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

// Queries over records: the best configuration, and how the others compare with it.

/// How a record compares with the best one, by measurements that were taken beside each other.
struct Ratio {
  double value = 1;          ///< its time as a multiple of the best one's
  double low = 1, high = 1;  ///< 95 % interval; of finalists, those of all hold together with that probability
  bool met = false;          ///< by the rounds of finals
  /// Not told apart from the best one, or equally good. Never so for another record of its configuration, or if one of
  /// the two is tainted and the other is not.
  bool tied = false;
};

/// The records of one problem on one kind of device, compared. Points into the records, which must outlive it.
class Standings {
 public:
  explicit Standings(const std::vector<const Record*>& records, const Criterion& criterion = {});
  explicit Standings(const std::vector<Record>& records, const Criterion& criterion = {});
  explicit Standings(std::vector<Record>&& records, const Criterion& criterion = {}) = delete;
  Standings(Standings&&) noexcept;
  Standings& operator=(Standings&&) noexcept;
  ~Standings();

  /// The ok records: the best, then by the criterion on its scale, clean ones before tainted ones; equal ones by the
  /// configuration's text, so that the same records give the same order. Duplicates of a measurement key count once
  /// (the newest; never pruned ones). The best is the winner of finals that decide by this criterion, unless something
  /// that was measured later is better.
  const std::vector<const Record*>& order() const noexcept;
  bool empty() const noexcept { return order().empty(); }
  const Record& best() const { return *order().front(); }
  /// Whether they are ranked only by their times.
  bool by_time() const noexcept;
  /// Those of order() that tie with the best, without it.
  const std::vector<const Record*>& ties() const noexcept;
  /// For any of the records with a time; nullopt: it has none, or the best has none. The minimum of a pruned record's
  /// samples counts as its time.
  std::optional<Ratio> ratio(const Record& record) const;
  /// What to multiply a record's times by to have them on the scale of the best one's: as if it had been measured
  /// beside the best one. 1 if that is unknown.
  double factor(const Record& record) const;
  /// By how much slower the device was in the finals of the best one than when the search measured the finalists: the
  /// median of their factors. 1: there were no finals, or no other measurements.
  double slowdown() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The best of the Standings and its ties; nullopt without any ok record.
struct Best {
  const Record* record = nullptr;
  std::vector<const Record*> ties;
};
std::optional<Best> best_of(const std::vector<Record>& records, const Criterion& criterion = {});
std::optional<Best> best_of(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::optional<Best> best_of(std::vector<Record>&& records,
                            const Criterion& criterion = {}) = delete;  // the pointers would outlive the records

/// Multiplies the times of all these records by their factors, and gives them the best one's time of the reference. The
/// samples remain as they were taken. Standings of the result have the same order and ratios.
void put_on_one_scale(const std::vector<Record*>& records, const Standings& standings);

/// Standings::order.
std::vector<const Record*> ranked(const std::vector<Record>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(std::vector<Record>&& records, const Criterion& criterion = {}) = delete;

/// Whether it is the same kind of device through the same backend: records must agree in this to be an exact answer.
bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b);

}  // namespace xtune::record
