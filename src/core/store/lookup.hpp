// Which record is used for a problem on a device: how keys match, why a lookup hits or misses, and what objects to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/build/cache.hpp"
#include "core/build/keys.hpp"
#include "core/device/device_info.hpp"
#include "core/resolve/resolve.hpp"
#include "core/space/value.hpp"
#include "core/spec/spec.hpp"
#include "core/store/best.hpp"
#include "core/store/index.hpp"
#include "xtune/outcome.hpp"

namespace xtune::store {

// How well a stored record's key matches the key of a measurement today.

/// Best first.
enum class KeyFit {
  holds,   ///< the same key
  stale,   ///< the same except for the driver: a result from before an update, or of another node of a cluster
  differs  ///< something else differs: the source, the problem's data, the tolerance
};
/// From the result of key_difference.
KeyFit key_fit(const std::vector<std::string>& differences);

/// Whether both have the same driver; an unknown driver (an absent device, a CPU) counts as the same.
bool same_driver(const device::DeviceInfo& a, const device::DeviceInfo& b);

/// The best possible fit of a record's key from one device for another device.
KeyFit fit_at_best(const device::DeviceInfo& measured, const device::DeviceInfo& now);

/// A setting of [measure] in a key: "flush" ("l2", "rotate" or "none") or "launch" ("graph"); empty: the key has none.
/// These make different quantities: warm and cold caches, launches on their own and in a graph. The rest of the part
/// "protocol" describes how carefully the time was measured.
std::string protocol_setting(const build::KeyParts& parts, std::string_view name);

/// What the record's artifact was made from, as far as the store knows (empty: no store); of a program, with the files
/// that its command names.
build::ArtifactSources sources_of(const std::filesystem::path& store, const Record& record);

/// "driver 12.4 when it was measured, driver 13.0 now"
std::string driver_change(const device::DeviceInfo& measured, const device::DeviceInfo& now);

/// The sources of a request as they are now, with the files that earlier compiles show.
build::ArtifactSources sources_now(const build::CompileRequest& request);
/// The same differences (stored -> today), but instead of the hashes of the artifacts, the files, defines, options or
/// the compiler that changed, as far as the store has the sources of its artifact.
std::vector<std::string> with_changes_named(std::vector<std::string> differences, const std::filesystem::path& store,
                                            const std::string& artifact_key, const build::ArtifactSources& now);

/// Differences for people, in one line: "define LAYOUT: 0 -> 1; artifact", without values that are long or hashes.
std::string changes_text(const std::vector<std::string>& differences);

// Which record is used for a problem on a device, and why a lookup hits or misses.

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
  /// The same differences with names for what changed in the artifact (with_changes_named). Empty: they stay hashes.
  std::function<std::vector<std::string>(const Record&, std::vector<std::string> differences)> named;
  /// The best possible KeyFit of records that were measured on this device. It is cheap, and avoids `differences` for
  /// records that cannot fit better than one before them. Empty: they may always hold.
  std::function<KeyFit(const device::DeviceInfo& measured)> fit_at_best;
  /// The bucket of a problem by the spec's dispatch key; empty: none. Records of the same bucket come before nearer
  /// ones of another bucket.
  std::function<std::string(const Bindings& problem)> bucket;
  /// A nearest match is used only up to this distance.
  double radius = std::numeric_limits<double>::infinity();
  /// True only for a configuration, by its bytes in a StoredConfig, that has no obstacle: a faster answer than that of
  /// `obstacle`, for stored configurations. Empty: ask `obstacle`.
  std::function<bool(std::string_view names, std::string_view values)> allows = {};
  /// Whether each record of a group is asked for its obstacle, so that reasons count them. Else a StoreView asks those
  /// that it is about to use, in an order that it keeps: for many problems, ranked by the time.
  bool count_obstacles = true;
  bool reaches(const Nearness& nearness) const {
    return nearness.match() != Match::nearest || nearness.distance <= radius;
  }
};

/// The answer to "which configuration for this problem on this device", from records of one architecture.
struct LookupResult {
  Match match = Match::none;
  std::optional<Record> record;
  double distance = 0;                   ///< bucket, nearest: shape_distance
  bool exact_device = false;             ///< measured on this kind of device, not only on its architecture
  std::size_t passed_over = 0;           ///< number of faster ones whose key differs
  std::optional<double> beyond;          ///< none: distance of the nearest problem that is outside of the radius
  Bindings beyond_problem;               ///< that problem
  std::vector<std::string> differences;  ///< how the record's key differs from today's, one line each
  bool stale = false;                    ///< measured with another driver; nothing else differs
  std::vector<std::string> reasons;      ///< considered records, and why each was used or not, one line each
  /// bucket, nearest: failures of the answer's configuration when it ran for other problems, nearest first (StoreView).
  std::vector<Record> failed_elsewhere;
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
    /// The order without all records of the keys of those before this rank. Finals of another version, and the device's
    /// speed at that time, must not decide between records of this one.
    std::function<Order(std::size_t rank)> without_first;
  };
};
/// Numbers of records that are in no group, by reason.
struct LookupCounts {
  std::size_t records = 0;  ///< all, including those in groups
  std::size_t other_arch = 0, other_backend = 0, sanitized = 0, other_problem = 0;
};
/// Maximum number of groups of which a lookup says why they do not answer.
constexpr std::size_t max_shown_groups = 9;
/// Groups that are further away than those beside them.
struct FurtherGroups {
  std::size_t count = 0;
  std::function<std::vector<LookupGroup>()> get = {};
};
/// The common part of all lookups: goes through the groups, in any order; equal groups keep their order. rank is called
/// for few of them. further: only counted where the others suffice.
LookupResult look_up(std::vector<LookupGroup> groups, const std::function<LookupGroup::Order(const LookupGroup&)>& rank,
                     const LookupCounts& counts, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules, const FurtherGroups& further = {});

/// Preference: exact (this problem, this device), the nearest problem of its bucket, the nearest problem by shape on
/// the same architecture, none. Records of sanitized kernels are never used: their times are not the kernel's.
LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion = {}, const LookupRules& rules = {});

/// One sentence about the answer and its reason, for people. statistic: that of the time.
std::string summary_of(const LookupResult& found, const Bindings& problem, const device::DeviceInfo& device,
                       measure::Statistic statistic, double radius);

// Whether measurements are a reason not to run a configuration for a problem that it was not measured for.

/// A configuration that was launched for a problem. The objects it points to must outlive it.
struct PastLaunch {
  const Bindings* problem = nullptr;
  const device::DeviceInfo* device = nullptr;
  bool passed = false;  ///< false: it failed, see failed_when_run
  std::int64_t unix_time_ms = 0;
};

/// Whether a record shows that the launch itself failed: the driver refused it, it hung, crashed or gave a wrong
/// result. A refusal by a compiler or because of a limit of the device does not count.
bool failed_when_run(Outcome outcome, std::string_view stage);

/// "BLOCK=64 failed for N=126 (wrong_result: y[3] is 0, expected 1)"
std::string failure_text(const Record& failure);

/// Of one configuration's launches, the one because of which it should not be run for this problem on this device. Its
/// launches on the nearest problem by shape decide, those on this kind of device before others of its architecture;
/// there a failure counts unless the same problem passed later. Problems of another kind are further away than all
/// others. nullopt: no objection. holds(i): whether the launch was of today's source and spec; others do not count.
std::optional<std::size_t> objection(const std::vector<PastLaunch>& launches, const Bindings& problem,
                                     const device::DeviceInfo& device, const std::function<bool(std::size_t)>& holds);

// Whether stored records are still valid for their spec, which may have changed.

/// Returns a function for the bucket of a problem on this device: the text of the values of the spec's [dispatch] key;
/// "" for a problem for which the key cannot be evaluated. It holds no reference to the spec. Empty if the spec has no
/// key.
std::function<std::string(const Bindings& problem)> bucket_function(const spec::Spec& spec,
                                                                    const device::DeviceInfo& device);

/// Compares records with a spec that may have changed: parameters renamed, constraints tightened, the source edited.
/// Not for use by several threads at once.
class SpecFit {
 public:
  /// The wanted answer: a problem on a device, compiled for `arch` by `toolchain`. spec must outlive this object.
  /// store: as for CandidateResolver. manifest_of: what the compile of a record's artifact read (build/manifest.hpp);
  /// empty: as the store has it. Throws as make_space does.
  SpecFit(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device, std::string arch,
          std::string toolchain, std::filesystem::path store = {},
          std::function<build::Manifest(const std::string& artifact_key)> manifest_of = {});
  ~SpecFit();

  /// Why the record's configuration is not in the spec's space for this problem and device, or empty.
  std::string obstacle(const Record& record) const;
  /// How the record's key differs from the one that its configuration, problem and device would have today, one line
  /// each (stored -> today). Seed and protocol are ignored: they describe how carefully the time was measured, not what
  /// was measured. The driver counts if the device's is known and the record is from this kind of device. The record
  /// must have no obstacle.
  std::vector<std::string> differences(const Record& record);
  /// These differences with names for what changed in the artifact.
  std::vector<std::string> named(const Record& record, std::vector<std::string> differences);

  /// Rules for look_up; they refer to this object.
  LookupRules rules();

 private:
  const resolve::CandidateResolver& resolver_for(const Record& record);

  const spec::Spec& spec_;
  const space::Space space_;
  const device::DeviceInfo device_;
  const std::string arch_, toolchain_;
  const std::filesystem::path store_;
  std::function<build::Manifest(const std::string& artifact_key)> manifest_of_;
  const std::function<std::string(const Bindings&)> bucket_;
  const ConfigForm form_;
  std::map<std::string, std::unique_ptr<resolve::CandidateResolver>> resolvers_;  ///< by problem and device
};

}  // namespace xtune::store
