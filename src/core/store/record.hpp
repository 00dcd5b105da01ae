// The measurement record: the single source of truth of xtune.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/keys.hpp"
#include "core/device/device_info.hpp"
#include "core/measure/statistics.hpp"
#include "core/space/value.hpp"
#include "core/validate/compare.hpp"
#include "xtune/outcome.hpp"

namespace xtune::store {

/// The resources of one of several kernels that a configuration launches.
struct StepUsage {
  std::string entry;  ///< "gemm<64>"
  build::ResourceUsage usage;
  std::int64_t dynamic_shared_bytes = 0;
};

/// The time of the spec's reference kernel on the run's first device: measured when it made the expected outputs, and
/// for records of finals again beside their rounds.
struct ReferenceTime {
  std::string name;                ///< "naive_gemm"
  std::vector<double> samples_ms;  ///< in the order taken; not empty
};

/// One configuration's attempt on one problem and device. Immutable once written. Format: docs/record-format.md.
struct Record {
  static constexpr int schema = 1;
  std::string kernel;
  std::string key;            ///< measurement key: records with the same key answer the same question
  build::KeyParts key_parts;  ///< the parts that the key was computed from
  Bindings problem;
  Bindings config;  ///< parameter name -> value
  Outcome outcome = Outcome::ok;
  std::string stage;               ///< where it ended: "space", "compile", "load", "run", "validate", "measure"
  std::string message;             ///< empty when ok
  double limit_s = 0;              ///< for timed_out: the time limit, if no part of the key has it; 0: unknown
  std::string log;                 ///< for a failure at run time: the end of its standard error
  std::vector<double> samples_ms;  ///< in JSON, rounded by kept_time_ms
  measure::Summary time_ms;        ///< of the samples, divided by slowness; all zero unless ok or pruned
  /// How many times as long the incumbent took in its last check as at the run's start; 1 for records of finals.
  double slowness = 1;
  /// Other values that a program reports: the metric, and its value for each of the samples.
  std::vector<std::pair<std::string, std::vector<double>>> reported;
  std::optional<validate::Comparison> validation;
  std::optional<validate::Repeatability> repeatable{};  ///< unset: the bits of several launches were not compared
  std::optional<ReferenceTime> reference;  ///< only if ok; unset: the reference is not a kernel, or was not timed
  measure::Telemetry telemetry;
  build::ResourceUsage usage;             ///< of several kernels, the largest values
  std::int64_t dynamic_shared_bytes = 0;  ///< from the launch; of several, the maximum
  std::vector<StepUsage> steps;           ///< of a spec with [[steps]], in the order of the launches; else empty
  std::string artifact_key;
  /// SHA-256 of the artifact's image in the store when the record was written (set by RecordWriter). Empty: the store
  /// had none, or the record is from an earlier version.
  std::string artifact_sha256;
  device::DeviceInfo device;
  std::string toolchain;  ///< fingerprint
  std::string host;
  std::string attempt;               ///< id of the run that measured it
  std::string proposed_by;           ///< "advisor": the program of [search] advisor; empty: the search
  std::vector<std::string> tainted;  ///< reasons why the numbers are suspect; empty: they are not
  /// For a configuration that passed before and was launched again: as the incumbent, to check whether the device
  /// drifts...
  bool drift = false;
  /// ... or in finals: their id, the same in the records of all finalists. samples_ms[i] is from round i.
  std::string finals;
  std::string finals_by;  ///< Criterion::finals_by of those finals
  /// What the run ranked by, if not the median time (Criterion::finals_by), and its value: less is better. Unset: it
  /// has none, or the record is of an earlier version.
  std::string objective;
  std::optional<double> score;
  std::int64_t unix_time_ms = 0;
  double compile_s = 0;  ///< wall clock; 0 if it came from the cache
  double compile_cpu_s = 0;
  double bench_s = 0;  ///< wall clock of the bench worker
};

/// A sample as records store it: rounded to the nanosecond, and below 10 us to five digits, since programs may report
/// times of a single operation. More digits would take half of a record's text, and no timer is that precise.
double kept_time_ms(double time_ms) noexcept;

/// Static and dynamic shared memory of a block; of several steps, the maximum. nullopt: the compiler reports none, and
/// the launch has none.
std::optional<std::int64_t> shared_bytes(const Record& record);

/// The statistic of the reference's time; nullopt: not known.
std::optional<double> reference_ms(const Record& record, measure::Statistic statistic);
/// That divided by the record's own time: above 1, the configuration is faster than the reference. nullopt: not known.
std::optional<double> speedup(const Record& record, measure::Statistic statistic);

/// Whether the record is from neither drift checks nor finals: the records for a search.
inline bool is_first(const Record& record) { return !record.drift && record.finals.empty(); }

/// Orders by the time when they ended; finals come last among equal times, since they follow the measurements that they
/// use.
inline bool is_earlier(const Record& a, const Record& b) {
  return a.unix_time_ms != b.unix_time_ms ? a.unix_time_ms < b.unix_time_ms : a.finals.empty() && !b.finals.empty();
}

/// Whether its kernel was built with --sanitize: its times are not the kernel's.
bool is_sanitized(const Record& record);

/// Whether a failure's message is a report of AddressSanitizer or UndefinedBehaviorSanitizer.
bool is_sanitizer_report(std::string_view message);

/// Whether the artifact is the one that the record measured; true if the record does not contain the hash.
bool is_measured(const Record& record, const build::Artifact& artifact);

/// Valid UTF-8, one line; members with default values are omitted. from_json throws Error(io) with the wrong field, and
/// ignores unknown members.
nlohmann::json to_json(const Record& record);
Record record_from_json(const nlohmann::json& json);
/// The names of the members, which docs/record-format.md describes.
std::vector<std::string> record_fields();

// JSON forms of parts of a record, which worker messages and reports use too.

// All of these are lossless: reading the JSON gives the same value. The readers throw nlohmann's exceptions, or
// Error(io), for a field of the wrong type; missing members keep their defaults.

/// Members with default values are omitted.
nlohmann::json to_json(const device::DeviceInfo& device);
device::DeviceInfo device_info_from_json(const nlohmann::json& json);

/// Members with default values are omitted.
nlohmann::json to_json(const measure::Telemetry& telemetry);
measure::Telemetry telemetry_from_json(const nlohmann::json& json);

/// NaN and infinities become the strings "nan", "inf", "-inf".
nlohmann::json to_json(const validate::Comparison& comparison);
validate::Comparison comparison_from_json(const nlohmann::json& json);
nlohmann::json to_json(const validate::Repeatability& repeatable);
validate::Repeatability repeatability_from_json(const nlohmann::json& json);

using space::bindings_from_json;
using space::bindings_json;
using space::to_json;
using space::value_from_json;

// The id of a run.

/// 16 hex digits that are unique among all runs on all machines: the id of the run in its records.
std::string new_attempt();

}  // namespace xtune::store
