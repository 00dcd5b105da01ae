// The JSON form of a record: one flat object; members with default values are omitted.
#include "core/store/record.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/build/artifact.hpp"
#include "core/space/bindings_form.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

namespace {

using Json = nlohmann::json;

using measure::Summary;
namespace fields = base::fields;

constexpr auto summary_form = fields::object<Summary>(
    fields::required("count", &Summary::count), fields::required("min", &Summary::min, fields::number),
    fields::required("q1", &Summary::q1, fields::number), fields::required("median", &Summary::median, fields::number),
    fields::required("q3", &Summary::q3, fields::number), fields::required("mean", &Summary::mean, fields::number),
    fields::required("max", &Summary::max, fields::number), fields::required("noise", &Summary::noise, fields::number),
    fields::required("low", &Summary::low, fields::number), fields::required("high", &Summary::high, fields::number));

/// The version; a newer one is refused when it is read.
struct SchemaForm {
  static void write(Json& json, const Record&) { json = Record::schema; }
  static void read(const Json& json, Record&) {
    if (json.get<int>() > Record::schema)
      throw Error(ErrorKind::io, "version " + json.dump() + " is newer than this xtune reads (" +
                                     std::to_string(Record::schema) + ")");
  }
};

/// Text of several lines.
struct LinesForm {
  static void write(Json& json, const std::string& text) { json = base::printable_lines(text); }
  static void read(const Json& json, std::string& text) { json.get_to(text); }
};

constexpr fields::Through sample_form{[](double sample_ms) { return base::number_to_json(kept_time_ms(sample_ms)); },
                                      &base::number_from_json};

/// By metric, as one object; reading it gives the metrics sorted by name.
struct ReportedForm {
  using Reported = decltype(Record::reported);
  static void write(Json& json, const Reported& reported) {
    for (const auto& [name, values] : reported) fields::List{fields::number}.write(json[base::printable(name)], values);
  }
  static void read(const Json& json, Reported& reported) {
    for (const auto& [name, values] : json.get_ref<const Json::object_t&>())
      fields::List{fields::number}.read(values, reported.emplace_back(name, std::vector<double>()).second);
  }
};

constexpr auto json_of = [](const auto& value) { return to_json(value); };
constexpr auto usage_json_of = [](const build::ResourceUsage& usage) { return build::to_json(usage); };
using space::bindings_form;
constexpr fields::Through outcome_form{[](Outcome outcome) { return to_string(outcome); },
                                       [](const Json& json) {
                                         const auto& word = json.get_ref<const std::string&>();
                                         if (const auto outcome = outcome_from_string(word)) return *outcome;
                                         throw Error(ErrorKind::io,
                                                     "unknown outcome '" + base::printable(word, 40) + "'");
                                       }};
constexpr auto outliers_of = [](auto& record) -> auto& { return record.time_ms.outliers; };
constexpr auto has_summary = [](const Record& record) { return record.time_ms.count != 0; };

constexpr auto reference_form = fields::object<ReferenceTime>(
    fields::required("name", &ReferenceTime::name, fields::text),
    fields::required("samples_ms", &ReferenceTime::samples_ms, fields::List{sample_form}));

constexpr fields::Through usage_form{usage_json_of, build::resource_usage_from_json};
constexpr auto step_form =
    fields::object<StepUsage>(fields::required("entry", &StepUsage::entry, fields::text),
                              fields::unless_empty("usage", &StepUsage::usage, usage_form),
                              fields::optional("dynamic_shared_bytes", &StepUsage::dynamic_shared_bytes));

constexpr auto record_form = fields::object<Record>(
    fields::required("schema", std::identity(), SchemaForm()),
    fields::required("kernel", &Record::kernel, fields::text), fields::required("key", &Record::key, fields::text),
    fields::always("key_parts", &Record::key_parts, fields::exact_text),
    fields::required("problem", &Record::problem, bindings_form),
    fields::required("config", &Record::config, bindings_form),
    fields::required("outcome", &Record::outcome, outcome_form),
    fields::optional("stage", &Record::stage, fields::text),
    fields::optional("message", &Record::message, fields::text), fields::optional("log", &Record::log, LinesForm()),
    fields::optional("samples_ms", &Record::samples_ms, fields::List{sample_form}),
    fields::optional("reported", &Record::reported, ReportedForm()),
    fields::When(has_summary, fields::always("time_ms", &Record::time_ms, summary_form)),
    fields::optional("validation", &Record::validation, fields::Through{json_of, comparison_from_json}),
    fields::optional("repeatable", &Record::repeatable, fields::Through{json_of, repeatability_from_json}),
    fields::optional("outliers", outliers_of), fields::optional("reference", &Record::reference, reference_form),
    fields::unless_empty("telemetry", &Record::telemetry, fields::Through{json_of, telemetry_from_json}),
    fields::unless_empty("usage", &Record::usage, usage_form),
    fields::unless_empty("steps", &Record::steps, fields::List{step_form}),
    fields::optional("artifact_key", &Record::artifact_key, fields::text),
    fields::optional("artifact_sha256", &Record::artifact_sha256, fields::text),
    fields::required("device", &Record::device, fields::Through{json_of, device_info_from_json}),
    fields::optional("toolchain", &Record::toolchain, fields::text),
    fields::optional("host", &Record::host, fields::text), fields::optional("attempt", &Record::attempt, fields::text),
    fields::optional("proposed_by", &Record::proposed_by, fields::text),
    fields::optional("tainted", &Record::tainted, fields::text),
    fields::optional("dynamic_shared_bytes", &Record::dynamic_shared_bytes), fields::optional("drift", &Record::drift),
    fields::optional("finals", &Record::finals, fields::text),
    fields::optional("finals_by", &Record::finals_by, fields::text),
    fields::optional("objective", &Record::objective, fields::text),
    fields::optional("score", &Record::score, fields::number), fields::required("unix_time_ms", &Record::unix_time_ms),
    fields::optional("limit_s", &Record::limit_s, fields::number),
    fields::optional("slowness", &Record::slowness, fields::number),
    fields::optional("compile_s", &Record::compile_s, fields::number),
    fields::optional("compile_cpu_s", &Record::compile_cpu_s, fields::number),
    fields::optional("bench_s", &Record::bench_s, fields::number));

/// Records have only the number of outliers, and those of earlier versions not even that: all follows from the samples.
void add_inliers(Record& record) {
  Summary& time = record.time_ms;
  time.inlier_mean = time.mean;
  const auto is_finite = [](double sample) { return std::isfinite(sample); };
  if (record.samples_ms.size() != time.count ||
      !std::all_of(record.samples_ms.begin(), record.samples_ms.end(), is_finite))
    return;
  // Sorting the samples again is for the few records that have outliers: a store is read at each start.
  if (!measure::is_outlier(time.min, time) && !measure::is_outlier(time.max, time)) {
    time.outliers = 0;
    return;
  }
  const Summary made = measure::summarize(record.samples_ms);
  time.outliers = made.outliers;
  if (made.outliers > 0) time.inlier_mean = made.inlier_mean / record.slowness;
}

}  // namespace

double kept_time_ms(double time_ms) noexcept {
  if (!std::isfinite(time_ms) || std::abs(time_ms) >= 1e-2) return std::round(time_ms * 1e6) / 1e6;
  const double digit = std::floor(std::log10(std::abs(time_ms)));
  if (digit < -18) return time_ms;  // no power of ten is exact for it; also for zero
  const double scale = std::pow(10.0, 4 - digit);
  return std::round(time_ms * scale) / scale;
}

std::optional<std::int64_t> shared_bytes(const Record& record) {
  const auto of = [](const build::ResourceUsage& usage, std::int64_t dynamic_bytes) -> std::optional<std::int64_t> {
    if (!usage.static_shared_bytes && dynamic_bytes == 0) return std::nullopt;
    return usage.static_shared_bytes.value_or(0) + dynamic_bytes;
  };
  if (record.steps.empty()) return of(record.usage, record.dynamic_shared_bytes);
  std::optional<std::int64_t> most;
  for (const StepUsage& step : record.steps)
    if (const auto bytes = of(step.usage, step.dynamic_shared_bytes)) most = std::max(most.value_or(0), *bytes);
  return most;
}

std::optional<double> reference_ms(const Record& record, measure::Statistic statistic) {
  if (!record.reference || record.reference->samples_ms.empty()) return std::nullopt;
  return measure::statistic(measure::summarize(record.reference->samples_ms), statistic);
}

std::optional<double> speedup(const Record& record, measure::Statistic statistic) {
  const std::optional<double> reference = reference_ms(record, statistic);
  const double own = measure::statistic(record.time_ms, statistic);
  if (record.outcome != Outcome::ok || !reference || !(own > 0)) return std::nullopt;
  return *reference / own;
}

bool is_sanitized(const Record& record) {
  return std::find(record.key_parts.begin(), record.key_parts.end(), build::KeyParts::value_type("sanitize", "true")) !=
         record.key_parts.end();
}

// As both word their reports, which the bench service makes the message of a record.
bool is_sanitizer_report(std::string_view message) {
  return message.starts_with("AddressSanitizer: ") || message.find("runtime error: ") != std::string_view::npos;
}

bool is_measured(const Record& record, const build::Artifact& artifact) {
  return record.artifact_sha256.empty() || record.artifact_key != artifact.key ||
         base::sha256(artifact.image) == record.artifact_sha256;
}

Json to_json(const Record& record) { return record_form.to_json(record); }
std::vector<std::string> record_fields() { return record_form.names(); }

Record record_from_json(const Json& json) {
  if (!json.is_object()) throw Error(ErrorKind::io, "a record is a JSON object");
  Record record;
  record_form.read_named(json, record, "record field");
  add_inliers(record);
  return record;
}

// JSON forms of devices, comparisons, values and bindings.

namespace {

using device::DeviceInfo;
using measure::Telemetry;
using validate::Comparison;

constexpr auto device_form = fields::object<DeviceInfo>(
    fields::optional("backend", &DeviceInfo::backend, fields::text), fields::optional("index", &DeviceInfo::index),
    fields::optional("name", &DeviceInfo::name, fields::text),
    fields::optional("vendor", &DeviceInfo::vendor, fields::text),
    fields::optional("arch", &DeviceInfo::arch, fields::text),
    fields::optional("uuid", &DeviceInfo::uuid, fields::text),
    fields::optional("locked_clock_mhz", &DeviceInfo::locked_clock_mhz),
    fields::optional("driver", &DeviceInfo::driver, fields::text),
    fields::optional("warp_size", &DeviceInfo::warp_size),
    fields::optional("compute_units", &DeviceInfo::compute_units),
    fields::optional("cpu_quota_milli", &DeviceInfo::cpu_quota_milli),
    fields::optional("shared_per_block", &DeviceInfo::shared_per_block),
    fields::optional("shared_per_block_optin", &DeviceInfo::shared_per_block_optin),
    fields::optional("shared_per_compute_unit", &DeviceInfo::shared_per_compute_unit),
    fields::optional("registers_per_block", &DeviceInfo::registers_per_block),
    fields::optional("registers_per_compute_unit", &DeviceInfo::registers_per_compute_unit),
    fields::optional("max_threads_per_block", &DeviceInfo::max_threads_per_block),
    fields::optional("max_threads_per_compute_unit", &DeviceInfo::max_threads_per_compute_unit),
    fields::optional("max_grid_x", &DeviceInfo::max_grid_x), fields::optional("max_grid_y", &DeviceInfo::max_grid_y),
    fields::optional("max_grid_z", &DeviceInfo::max_grid_z), fields::optional("max_block_x", &DeviceInfo::max_block_x),
    fields::optional("max_block_y", &DeviceInfo::max_block_y),
    fields::optional("max_block_z", &DeviceInfo::max_block_z), fields::optional("l2_bytes", &DeviceInfo::l2_bytes),
    fields::optional("memory_bytes", &DeviceInfo::memory_bytes), fields::optional("clock_khz", &DeviceInfo::clock_khz),
    fields::optional("memory_clock_khz", &DeviceInfo::memory_clock_khz),
    fields::optional("memory_bus_bits", &DeviceInfo::memory_bus_bits));

constexpr auto telemetry_form =
    fields::object<Telemetry>(fields::optional("clock_mhz", &Telemetry::clock_mhz, fields::number),
                              fields::optional("temperature_c", &Telemetry::temperature_c, fields::number),
                              fields::optional("power_w", &Telemetry::power_w, fields::number),
                              fields::optional("energy_j", &Telemetry::energy_j, fields::number),
                              fields::optional("overhead_ms", &Telemetry::overhead_ms, fields::number),
                              fields::optional("launches", &Telemetry::launches));

template <auto member>
constexpr auto of_tolerance = [](auto& comparison) -> auto& {
  return comparison.tolerance.*member;
};
constexpr auto has_ratio = [](const Comparison& comparison) { return comparison.tolerance.max_mismatched_ratio != 0; };
constexpr auto has_first = [](const Comparison& comparison) { return comparison.first_index.has_value(); };

constexpr auto comparison_form = fields::object<Comparison>(
    fields::required("output", &Comparison::output, fields::text), fields::required("passed", &Comparison::passed),
    fields::required("count", &Comparison::count), fields::optional("mismatched", &Comparison::mismatched),
    fields::optional("nans", &Comparison::nans), fields::optional("infinities", &Comparison::infinities),
    fields::optional("outliers", &Comparison::outliers), fields::optional("unwritten", &Comparison::unwritten),
    fields::optional("first_index", &Comparison::first_index),
    fields::When(has_first, fields::always("first_coordinates", &Comparison::first_coordinates)),
    fields::When(has_first, fields::always("actual", &Comparison::actual, fields::number)),
    fields::When(has_first, fields::always("expected", &Comparison::expected, fields::number)),
    fields::When(has_first, fields::optional("actual_imaginary", &Comparison::actual_imaginary, fields::number)),
    fields::When(has_first, fields::optional("expected_imaginary", &Comparison::expected_imaginary, fields::number)),
    fields::always("max_abs_error", &Comparison::max_abs_error, fields::number),
    fields::always("max_rel_error", &Comparison::max_rel_error, fields::number),
    fields::optional("rtol", of_tolerance<&validate::Tolerance::rtol>, fields::number),
    fields::optional("atol", of_tolerance<&validate::Tolerance::atol>, fields::number),
    fields::optional("allowed_ratio", of_tolerance<&validate::Tolerance::max_mismatched_ratio>, fields::number),
    fields::When(has_ratio,
                 fields::always("outlier_factor", of_tolerance<&validate::Tolerance::outlier_factor>, fields::number)));

using validate::BitDifference;
using validate::Repeatability;
constexpr auto difference_form = fields::object<BitDifference>(
    fields::required("output", &BitDifference::argument, fields::text),
    fields::required("coordinates", &BitDifference::coordinates),
    fields::required("before", &BitDifference::before, fields::text),
    fields::required("now", &BitDifference::now, fields::text),
    fields::required("differing", &BitDifference::differing), fields::required("count", &BitDifference::count));

}  // namespace

Json to_json(const Repeatability& repeatable) {
  Json json{{"launches", repeatable.launches}, {"same", repeatable.same()}};
  if (repeatable.difference) json["difference"] = difference_form.to_json(*repeatable.difference);
  return json;
}
Repeatability repeatability_from_json(const Json& json) {
  if (!json.is_object()) throw Error(ErrorKind::io, "repeatable is a JSON object");
  Repeatability repeatable;
  json.at("launches").get_to(repeatable.launches);
  if (!json.at("same").get<bool>()) repeatable.difference = difference_form.from_json(json.at("difference"));
  return repeatable;
}

Json to_json(const DeviceInfo& device) { return device_form.to_json(device); }
DeviceInfo device_info_from_json(const Json& json) { return device_form.from_json(json); }

Json to_json(const Telemetry& telemetry) { return telemetry_form.to_json(telemetry); }
Telemetry telemetry_from_json(const Json& json) {
  if (!json.is_object()) throw Error(ErrorKind::io, "telemetry is a JSON object");
  return telemetry_form.from_json(json);
}

Json to_json(const Comparison& comparison) { return comparison_form.to_json(comparison); }
Comparison comparison_from_json(const Json& json) { return comparison_form.from_json(json); }

// Ids of runs, from the system's random numbers: a seed would give two runs the same id.

std::string new_attempt() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

}  // namespace xtune::store
