// JSON forms of devices, comparisons, values and bindings.
#include "core/record/record_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::record {

namespace {

using Json = nlohmann::json;

// One list of the members serves both directions.
template <class Device, class Visit>
void each_member(Device& device, Visit visit) {
  visit("backend", device.backend);
  visit("index", device.index);
  visit("name", device.name);
  visit("vendor", device.vendor);
  visit("arch", device.arch);
  visit("uuid", device.uuid);
  visit("driver", device.driver);
  visit("warp_size", device.warp_size);
  visit("compute_units", device.compute_units);
  visit("cpu_quota_milli", device.cpu_quota_milli);
  visit("shared_per_block", device.shared_per_block);
  visit("shared_per_block_optin", device.shared_per_block_optin);
  visit("shared_per_compute_unit", device.shared_per_compute_unit);
  visit("registers_per_block", device.registers_per_block);
  visit("registers_per_compute_unit", device.registers_per_compute_unit);
  visit("max_threads_per_block", device.max_threads_per_block);
  visit("max_threads_per_compute_unit", device.max_threads_per_compute_unit);
  visit("max_grid_x", device.max_grid_x);
  visit("max_grid_y", device.max_grid_y);
  visit("max_grid_z", device.max_grid_z);
  visit("max_block_x", device.max_block_x);
  visit("max_block_y", device.max_block_y);
  visit("max_block_z", device.max_block_z);
  visit("l2_bytes", device.l2_bytes);
  visit("memory_bytes", device.memory_bytes);
  visit("clock_khz", device.clock_khz);
  visit("memory_clock_khz", device.memory_clock_khz);
  visit("memory_bus_bits", device.memory_bus_bits);
}

Json member_to_json(const std::string& text) { return base::printable(text); }
Json member_to_json(std::int64_t number) { return number; }

template <class Number>
void read_if_there(const Json& json, const char* name, Number& member) {
  const auto found = json.find(name);
  if (found != json.end()) found->get_to(member);
}

template <class Visit>
void each_number(Visit visit) {
  visit("clock_mhz", &measure::Telemetry::clock_mhz);
  visit("temperature_c", &measure::Telemetry::temperature_c);
  visit("power_w", &measure::Telemetry::power_w);
  visit("energy_j", &measure::Telemetry::energy_j);
  visit("overhead_ms", &measure::Telemetry::overhead_ms);
}

}  // namespace

Json to_json(const device::DeviceInfo& device) {
  // Which members are at their default is told by a second visit of a default device, member by member.
  const device::DeviceInfo defaults;
  Json all = Json::object(), untouched = Json::object();
  each_member(device, [&](const char* name, const auto& member) { all[name] = member_to_json(member); });
  each_member(defaults, [&](const char* name, const auto& member) { untouched[name] = member_to_json(member); });
  for (const auto& [name, value] : untouched.items())
    if (all[name] == value) all.erase(name);
  return all;
}

device::DeviceInfo device_info_from_json(const Json& json) {
  json.get_ref<const Json::object_t&>();  // throws for what is no object; find() would only find nothing in it
  device::DeviceInfo device;
  each_member(device, [&](const char* name, auto& member) { read_if_there(json, name, member); });
  return device;
}

Json number_to_json(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return number;
}

double number_from_json(const Json& json) {
  if (json.is_number()) return json;
  const std::string& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  throw Error(ErrorKind::io, "'" + base::printable(text, 40) + "' where a number is needed");
}

Json to_json(const measure::Telemetry& telemetry) {
  Json json = Json::object();
  const measure::Telemetry defaults;
  each_number([&](const char* name, double measure::Telemetry::*member) {
    if (telemetry.*member != defaults.*member) json[name] = number_to_json(telemetry.*member);
  });
  if (telemetry.launches != defaults.launches) json["launches"] = telemetry.launches;
  return json;
}

measure::Telemetry telemetry_from_json(const Json& json) {
  if (!json.is_object()) throw Error(ErrorKind::io, "telemetry is a JSON object");
  measure::Telemetry telemetry;
  each_number([&](const char* name, double measure::Telemetry::*member) {
    if (const auto found = json.find(name); found != json.end()) telemetry.*member = number_from_json(*found);
  });
  if (const auto found = json.find("launches"); found != json.end()) found->get_to(telemetry.launches);
  return telemetry;
}

Json to_json(const validate::Comparison& comparison) {
  Json json = {{"output", base::printable(comparison.output)},
               {"passed", comparison.passed},
               {"count", comparison.count},
               {"max_abs_error", number_to_json(comparison.max_abs_error)},
               {"max_rel_error", number_to_json(comparison.max_rel_error)}};
  const validate::Tolerance& tolerance = comparison.tolerance;
  if (tolerance.rtol != 0) json["rtol"] = number_to_json(tolerance.rtol);
  if (tolerance.atol != 0) json["atol"] = number_to_json(tolerance.atol);
  if (tolerance.max_mismatched_ratio != 0) {
    json["allowed_ratio"] = number_to_json(tolerance.max_mismatched_ratio);
    json["outlier_factor"] = number_to_json(tolerance.outlier_factor);
  }
  if (comparison.mismatched) json["mismatched"] = comparison.mismatched;
  if (comparison.nans) json["nans"] = comparison.nans;
  if (comparison.infinities) json["infinities"] = comparison.infinities;
  if (comparison.outliers) json["outliers"] = comparison.outliers;
  if (comparison.unwritten) json["unwritten"] = comparison.unwritten;
  if (comparison.first_index) {
    json["first_index"] = *comparison.first_index;
    json["first_coordinates"] = comparison.first_coordinates;
    json["actual"] = number_to_json(comparison.actual);
    json["expected"] = number_to_json(comparison.expected);
    if (comparison.actual_imaginary != 0) json["actual_imaginary"] = number_to_json(comparison.actual_imaginary);
    if (comparison.expected_imaginary != 0) json["expected_imaginary"] = number_to_json(comparison.expected_imaginary);
  }
  return json;
}

validate::Comparison comparison_from_json(const Json& json) {
  validate::Comparison comparison;
  const auto number = [&](const char* name, double& member) {
    const auto found = json.find(name);
    if (found != json.end()) member = number_from_json(*found);
  };
  json.at("output").get_to(comparison.output);
  json.at("passed").get_to(comparison.passed);
  json.at("count").get_to(comparison.count);
  read_if_there(json, "mismatched", comparison.mismatched);
  read_if_there(json, "nans", comparison.nans);
  read_if_there(json, "infinities", comparison.infinities);
  read_if_there(json, "outliers", comparison.outliers);
  read_if_there(json, "unwritten", comparison.unwritten);
  const auto first = json.find("first_index");
  if (first != json.end()) comparison.first_index = first->get<std::uint64_t>();
  read_if_there(json, "first_coordinates", comparison.first_coordinates);
  number("actual", comparison.actual);
  number("expected", comparison.expected);
  number("actual_imaginary", comparison.actual_imaginary);
  number("expected_imaginary", comparison.expected_imaginary);
  number("max_abs_error", comparison.max_abs_error);
  number("max_rel_error", comparison.max_rel_error);
  number("rtol", comparison.tolerance.rtol);
  number("atol", comparison.tolerance.atol);
  number("allowed_ratio", comparison.tolerance.max_mismatched_ratio);
  number("outlier_factor", comparison.tolerance.outlier_factor);
  return comparison;
}

Json to_json(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value)) return base::utf8_text(*text);
  const double number = std::get<double>(value);
  return std::isfinite(number) ? Json(number) : Json{{"float", number_to_json(number)}};
}

Value value_from_json(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    throw Error(ErrorKind::io, "the integer " + json.dump() + " does not fit 64 bits");
  if (json.is_number()) return json.get<std::int64_t>();
  if (json.is_object()) return number_from_json(json.at("float"));
  return json.get<std::string>();
}

Json to_json(const Bindings& bindings) {
  Json json = Json::object();
  for (const auto& [name, value] : bindings) json[base::utf8_text(name)] = to_json(value);
  return json;
}

Bindings bindings_from_json(const Json& json) {
  Bindings bindings;
  for (const auto& [name, value] : json.get_ref<const Json::object_t&>())
    bindings.emplace(name, value_from_json(value));
  return bindings;
}

}  // namespace xtune::record
