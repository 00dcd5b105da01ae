// Queries over records: the best configuration, and how the others compare with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/criterion.hpp"
#include "core/record/record.hpp"

namespace xtune::record {

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
