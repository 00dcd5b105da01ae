// Which record answers for a problem on a device, and why a lookup hits or misses.
#pragma once

#include <functional>
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

/// Sum of |log2(a / b)| over the dimensions of two problems; nullopt where they are of different kinds: other names,
/// other words, sizes of zero or below that differ.
std::optional<double> shape_distance(const Bindings& a, const Bindings& b);

/// How near what was measured is to what is asked for.
struct Nearness {
  double distance = 0;  ///< shape_distance to the problem that is asked for
  bool exact_device = false, in_bucket = false;

  /// The very problem, then the bucket, then the distance, then the kind of device.
  auto rank() const { return std::tuple(distance != 0, !in_bucket, distance, !exact_device); }
  Match match() const {
    if (distance == 0) return exact_device ? Match::exact : Match::nearest;
    return in_bucket ? Match::bucket : Match::nearest;
  }
};

/// What is asked of each record before it may answer; each may be empty. SpecFit makes them from a spec.
struct LookupRules {
  /// Why a record may not answer ("whose parameters are not this spec's"), or empty. Looks at its configuration, and
  /// may be called in several threads at once.
  std::function<std::string(const Record&)> obstacle;
  /// How its key differs from the one that its configuration would have today, as key_difference returns it; empty: not
  /// at all. A record whose key holds goes before a faster one that is stale, that one before any that differs
  /// (KeyFit). One that does not hold never answers for a configuration that failed under a key that holds.
  std::function<std::vector<std::string>(const Record&)> differences;
  /// The best KeyFit that differences can come to for what was measured on this device. It costs next to nothing, and
  /// spares `differences` for records that cannot fit better than one before them. Empty: they may always hold.
  std::function<KeyFit(const device::DeviceInfo& measured)> fit_at_best;
  /// The bucket of a problem, as the spec's dispatch key has it; empty: none. Records of the same bucket go before
  /// nearer ones of another.
  std::function<std::string(const Bindings& problem)> bucket;
};

/// Answers "which configuration for this problem on this device", from records of one architecture.
struct LookupResult {
  Match match = Match::none;
  std::optional<Record> record;
  double distance = 0;                   ///< bucket, nearest: shape_distance
  std::vector<std::string> differences;  ///< how the record's key differs from today's, a line each
  bool stale = false;                    ///< measured with another driver; nothing else differs
  std::vector<std::string> reasons;      ///< what was considered and why it was taken or not, a line each
};

/// Records of one problem on one kind of device, as look_up asks for them. What it points to outlives it.
struct LookupGroup {
  const Bindings* problem = nullptr;
  const device::DeviceInfo* device = nullptr;
  Nearness nearness;

  struct Order {
    std::map<std::string, std::size_t> left_out;                   ///< obstacle -> records
    std::size_t left = 0;                                          ///< records without an obstacle
    std::size_t ranked = 0;                                        ///< of these, those that may answer
    std::function<const Record&(std::size_t)> record;              ///< by rank; valid until the next call
    std::function<const device::DeviceInfo&(std::size_t)> device;  ///< of that record, without reading it
    /// Whether it may answer, where that was not looked at before; asked before it is read. Empty: each may.
    std::function<bool(std::size_t)> may_answer;
    /// visit(record) each failure of that record's configuration, as far as no later record of the same key takes it
    /// back; until visit returns true. Returns what the last visit did. Leaves alone what `record` returned.
    std::function<bool(std::size_t, const std::function<bool(const Record&)>& visit)> any_failure;
  };
  std::function<Order()> rank;  ///< called once at most
};
/// Which of ranked records answers.
struct RankedChoice {
  std::size_t place = 0;
  std::optional<Record> record;  ///< none: each configuration failed as the spec is today
  std::vector<std::string> differences;
  std::size_t passed_over = 0;  ///< faster ones whose key differs
  std::size_t failed = 0;       ///< those whose configuration failed as the spec is today
};
/// The first record whose key holds, else the first stale one, else the first. order has at least one.
RankedChoice choose_ranked(const LookupGroup::Order& order, const LookupRules& rules);

/// Records that are in no group, and why.
struct LookupCounts {
  std::size_t records = 0;  ///< all, those in groups too
  std::size_t other_arch = 0, other_backend = 0, sanitized = 0, other_problem = 0;
};
/// What all lookups share: goes through the groups, which may be in any order but stay in theirs where they are equal.
LookupResult look_up(std::vector<LookupGroup> groups, const LookupCounts& counts, const Bindings& problem,
                     const device::DeviceInfo& device, const Criterion& criterion, const LookupRules& rules);

/// exact (this problem, this device) > the nearest problem of its bucket > the nearest problem by shape on the same
/// architecture > none. Records of sanitized kernels never answer: their times are not the kernel's.
LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion = {}, const LookupRules& rules = {});

}  // namespace xtune::record
