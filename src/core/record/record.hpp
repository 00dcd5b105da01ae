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
#include "core/measure/telemetry.hpp"
#include "core/space/value.hpp"
#include "core/validate/compare.hpp"
#include "xtune/outcome.hpp"

namespace xtune::record {

/// One configuration's attempt on one problem and device. Immutable once written. Format: docs/record-format.md.
struct Record {
  static constexpr int schema = 1;
  std::string kernel;
  std::string key;            ///< measurement key: what makes two records answers to the same question
  build::KeyParts key_parts;  ///< what the key was made of
  Bindings problem;
  Bindings config;  ///< parameter name -> value
  Outcome outcome = Outcome::ok;
  std::string stage;               ///< where it ended: "space", "compile", "load", "run", "validate", "measure"
  std::string message;             ///< empty when ok
  double limit_s = 0;              ///< of timed_out: the time limit, where no part of the key has it; 0: unknown
  std::string log;                 ///< of a failure while it ran: the end of what was written to standard error
  std::vector<double> samples_ms;  ///< as JSON, rounded by kept_time_ms
  measure::Summary time_ms;        ///< all zero unless ok or pruned
  /// What a program reports beside its time: the metric, and its value at each of the samples.
  std::vector<std::pair<std::string, std::vector<double>>> reported;
  std::optional<validate::Comparison> validation;
  measure::Telemetry telemetry;
  build::ResourceUsage usage;
  std::int64_t dynamic_shared_bytes = 0;  ///< of the launch
  std::string artifact_key;
  /// SHA-256 of the artifact's image as its store held it when the record was written (RecordWriter puts it in). Empty:
  /// it held none, or the record is an earlier version's.
  std::string artifact_sha256;
  device::DeviceInfo device;
  std::string toolchain;  ///< fingerprint
  std::string host;
  std::string attempt;               ///< id of the run that measured it
  std::vector<std::string> tainted;  ///< why the numbers are suspect, a reason each; empty: they are not
  /// Of a configuration that passed before and was launched again: as the incumbent, to see whether the device
  /// drifts...
  bool drift = false;
  /// ... or in finals: their id, the same in the records of all that took part. samples_ms[i] is of round i.
  std::string finals;
  std::string finals_by;  ///< Criterion::finals_by of those finals
  std::int64_t unix_time_ms = 0;
  double compile_s = 0;  ///< wall clock; 0 when it came from the cache
  double compile_cpu_s = 0;
  double bench_s = 0;  ///< wall clock of the bench worker
};

/// A sample as records keep it: to the nanosecond, and below 10 us to five digits, since programs may report times of a
/// single operation. More digits would be half of a record's text, and no timer tells them.
double kept_time_ms(double time_ms) noexcept;

/// Neither of them: what a search goes by.
inline bool is_first(const Record& record) { return !record.drift && record.finals.empty(); }

/// By the time when they ended; of equal times finals, which follow what they decide on, come last.
inline bool is_earlier(const Record& a, const Record& b) {
  return a.unix_time_ms != b.unix_time_ms ? a.unix_time_ms < b.unix_time_ms : a.finals.empty() && !b.finals.empty();
}

/// Whether its kernel was built with --sanitize: its times are not the kernel's.
bool is_sanitized(const Record& record);

/// Whether a failure's message is a report of AddressSanitizer or UndefinedBehaviorSanitizer.
bool is_sanitizer_report(std::string_view message);

/// Whether the artifact is the very one that the record measured; true where the record does not say.
bool is_measured(const Record& record, const build::Artifact& artifact);

/// Valid UTF-8, one line; members that have their default are left out. from_json throws Error(io) that names the
/// offending field, and passes over members that it does not know.
nlohmann::json to_json(const Record& record);
Record record_from_json(const nlohmann::json& json);

}  // namespace xtune::record
