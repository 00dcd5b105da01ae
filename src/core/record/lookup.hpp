// Which record is used for a problem on a device, and why a lookup hits or misses.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/record/best.hpp"
#include "core/record/key_fit.hpp"

namespace xtune::record {

enum class Match { exact, bucket, nearest, none };
const char* to_string(Match match) noexcept;

/// Sum of |log2(a / b)| over the dimensions of two problems; nullopt if they are of different kinds: other names, other
/// words, or different sizes that are not positive.
std::optional<double> shape_distance(const Bindings& a, const Bindings& b);

/// Why a measured problem is not used, for people: "outside of [dispatch] radius = 1: the default configuration
/// answers".
std::string outside_radius(double radius);

/// How near a measured problem is to the wanted one.
struct Nearness {
  double distance = 0;  ///< shape_distance to the wanted problem
  bool exact_device = false, in_bucket = false;

  /// Orders by the exact problem, then the bucket, then the distance, then the kind of device.
  auto rank() const { return std::tuple(distance != 0, !in_bucket, distance, !exact_device); }
  Match match() const {
    if (distance == 0) return exact_device ? Match::exact : Match::nearest;
    return in_bucket ? Match::bucket : Match::nearest;
  }
};

/// Conditions that a record must satisfy to be used; each may be empty. SpecFit makes them from a spec.
struct LookupRules {
  /// Why a record may not be used ("whose parameters are not this spec's"), or empty. Checks its configuration, and may
  /// be called in several threads at once.
  std::function<std::string(const Record&)> obstacle;
  /// How its key differs from the one that its configuration would have today, in the form of key_difference; empty: no
  /// difference. A record whose key holds comes before a faster one that is stale, and that one before any that differs
  /// (KeyFit). A record whose key does not hold is never used for a configuration that failed under a key that holds.
  std::function<std::vector<std::string>(const Record&)> differences;
  /// The best possible KeyFit of records that were measured on this device. It is cheap, and avoids `differences` for
  /// records that cannot fit better than one before them. Empty: they may always hold.
  std::function<KeyFit(const device::DeviceInfo& measured)> fit_at_best;
  /// The bucket of a problem by the spec's dispatch key; empty: none. Records of the same bucket come before nearer
  /// ones of another bucket.
  std::function<std::string(const Bindings& problem)> bucket;
  /// A nearest match is used only up to this distance.
  double radius = std::numeric_limits<double>::infinity();
  bool reaches(const Nearness& nearness) const {
    return nearness.match() != Match::nearest || nearness.distance <= radius;
  }
};

/// The answer to "which configuration for this problem on this device", from records of one architecture.
struct LookupResult {
  Match match = Match::none;
  std::optional<Record> record;
  double distance = 0;                   ///< bucket, nearest: shape_distance
  std::optional<double> beyond;          ///< none: distance of the nearest problem that is outside of the radius
  std::vector<std::string> differences;  ///< how the record's key differs from today's, one line each
  bool stale = false;                    ///< measured with another driver; nothing else differs
  std::vector<std::string> reasons;      ///< considered records, and why each was used or not, one line each
};

/// Records of one problem on one kind of device, for look_up. The objects it points to must outlive it.
struct LookupGroup {
  const Bindings* problem = nullptr;
  const device::DeviceInfo* device = nullptr;
  Nearness nearness;
  std::size_t number = 0;  ///< for its ranking

  struct Order {
    std::map<std::string, std::size_t> left_out;                   ///< obstacle -> records
    std::size_t left = 0;                                          ///< records without an obstacle
    std::size_t ranked = 0;                                        ///< number of these that can be ranked
    std::function<const Record&(std::size_t)> record;              ///< by rank; valid until the next call
    std::function<const device::DeviceInfo&(std::size_t)> device;  ///< of that record, without reading it
    /// Whether it may be used, if that was not checked before; called before it is read. Empty: each may.
    std::function<bool(std::size_t)> may_answer;
    /// Calls visit(record) for each failure of that record's configuration that no later record of the same key
    /// replaces, until visit returns true. Returns the last result of visit. Does not invalidate the result of
    /// `record`.
    std::function<bool(std::size_t, const std::function<bool(const Record&)>& visit)> any_failure;
  };
};
/// The ranked record that is used.
struct RankedChoice {
  std::size_t place = 0;
  std::optional<Record> record;  ///< unset: each configuration failed under the current spec
  std::vector<std::string> differences;
  std::size_t passed_over = 0;  ///< faster ones whose key differs
  std::size_t failed = 0;       ///< records whose configuration failed under the current spec
};
/// The first record whose key holds, else the first stale one, else the first. order must not be empty.
RankedChoice choose_ranked(const LookupGroup::Order& order, const LookupRules& rules);

/// Numbers of records that are in no group, by reason.
struct LookupCounts {
  std::size_t records = 0;  ///< all, including those in groups
  std::size_t other_arch = 0, other_backend = 0, sanitized = 0, other_problem = 0;
};
/// The common part of all lookups: goes through the groups, in any order; equal groups keep their order. rank is called
/// for few of them.
LookupResult look_up(std::vector<LookupGroup> groups, const std::function<LookupGroup::Order(const LookupGroup&)>& rank,
                     const LookupCounts& counts, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules);

/// Preference: exact (this problem, this device), the nearest problem of its bucket, the nearest problem by shape on
/// the same architecture, none. Records of sanitized kernels are never used: their times are not the kernel's.
LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion = {}, const LookupRules& rules = {});

}  // namespace xtune::record
