// JSON forms of devices, comparisons, values and bindings.
#include "core/record/record_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::record {

namespace {

using Json = nlohmann::json;
using device::DeviceInfo;
using measure::Telemetry;
using validate::Comparison;
namespace fields = base::fields;

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

}  // namespace xtune::record
