// The JSON form of a record: one flat object, members at their default left out.
#include "core/record/record.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/json_error.hpp"
#include "base/text.hpp"
#include "core/build/artifact_json.hpp"
#include "core/record/key_fit.hpp"
#include "core/record/record_json.hpp"
#include "xtune/error.hpp"

namespace xtune::record {

namespace {

using Json = nlohmann::json;

Json to_json(const measure::Summary& summary) {
  return {{"count", summary.count},
          {"min", number_to_json(summary.min)},
          {"q1", number_to_json(summary.q1)},
          {"median", number_to_json(summary.median)},
          {"q3", number_to_json(summary.q3)},
          {"mean", number_to_json(summary.mean)},
          {"max", number_to_json(summary.max)},
          {"noise", number_to_json(summary.noise)},
          {"low", number_to_json(summary.low)},
          {"high", number_to_json(summary.high)}};
}

measure::Summary summary_from_json(const Json& json) {
  measure::Summary summary;
  json.at("count").get_to(summary.count);
  summary.min = number_from_json(json.at("min"));
  summary.q1 = number_from_json(json.at("q1"));
  summary.median = number_from_json(json.at("median"));
  summary.q3 = number_from_json(json.at("q3"));
  summary.mean = number_from_json(json.at("mean"));
  summary.max = number_from_json(json.at("max"));
  summary.noise = number_from_json(json.at("noise"));
  summary.low = number_from_json(json.at("low"));
  summary.high = number_from_json(json.at("high"));
  return summary;
}

void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = base::printable(text);
}

void put(Json& json, const char* name, double number) {
  if (number != 0) json[name] = number_to_json(number);
}

// Calls read with the member of that name, where there is one; what goes wrong in it is reported with the name.
template <class Read>
void field(const Json& json, const char* name, bool required, const Read& read) {
  try {
    const auto found = json.find(name);
    if (found != json.end())
      read(*found);
    else if (required)
      throw Error(ErrorKind::io, "it is missing");
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::io, std::string("record field '") + name + "': " + base::json_error_text(error));
  } catch (const Error& error) {
    throw Error(ErrorKind::io, std::string("record field '") + name + "': " + error.what());
  }
}

void text_field(const Json& json, const char* name, std::string& member, bool required = false) {
  field(json, name, required, [&](const Json& value) { value.get_to(member); });
}

void number_field(const Json& json, const char* name, double& member) {
  field(json, name, false, [&](const Json& value) { member = number_from_json(value); });
}

Outcome outcome_of(const Json& json) {
  const auto outcome = outcome_from_string(json.get_ref<const std::string&>());
  if (!outcome) throw Error(ErrorKind::io, "unknown outcome '" + base::printable(json.get<std::string>(), 40) + "'");
  return *outcome;
}

}  // namespace

double kept_time_ms(double time_ms) noexcept {
  if (!std::isfinite(time_ms) || std::abs(time_ms) >= 1e-2) return std::round(time_ms * 1e6) / 1e6;
  const double digit = std::floor(std::log10(std::abs(time_ms)));
  if (digit < -18) return time_ms;  // of which no power of ten is exact; zero too
  const double scale = std::pow(10.0, 4 - digit);
  return std::round(time_ms * scale) / scale;
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

Json to_json(const Record& record) {
  Json parts = Json::array();
  for (const auto& [name, value] : record.key_parts) parts.push_back({base::utf8_text(name), base::utf8_text(value)});
  Json json = {{"schema", Record::schema},
               {"kernel", base::printable(record.kernel)},
               {"key", base::printable(record.key)},
               {"key_parts", parts},
               {"problem", to_json(record.problem)},
               {"config", to_json(record.config)},
               {"outcome", to_string(record.outcome)},
               {"device", to_json(record.device)},
               {"unix_time_ms", record.unix_time_ms}};
  put(json, "stage", record.stage);
  put(json, "message", record.message);
  if (!record.log.empty()) json["log"] = base::printable_lines(record.log);
  put(json, "artifact_key", record.artifact_key);
  put(json, "artifact_sha256", record.artifact_sha256);
  put(json, "toolchain", record.toolchain);
  put(json, "host", record.host);
  put(json, "attempt", record.attempt);
  if (!record.tainted.empty()) {
    Json& reasons = json["tainted"] = Json::array();
    for (const std::string& reason : record.tainted) reasons.push_back(base::printable(reason));
  }
  if (record.dynamic_shared_bytes) json["dynamic_shared_bytes"] = record.dynamic_shared_bytes;
  if (record.drift) json["drift"] = true;
  put(json, "finals", record.finals);
  put(json, "finals_by", record.finals_by);
  put(json, "limit_s", record.limit_s);
  put(json, "compile_s", record.compile_s);
  put(json, "compile_cpu_s", record.compile_cpu_s);
  put(json, "bench_s", record.bench_s);
  if (!record.samples_ms.empty()) {
    Json& samples = json["samples_ms"] = Json::array();
    for (const double sample : record.samples_ms) samples.push_back(number_to_json(kept_time_ms(sample)));
  }
  for (const auto& [name, values] : record.reported) {
    Json& list = json["reported"][base::printable(name)] = Json::array();
    for (const double value : values) list.push_back(number_to_json(value));
  }
  if (record.time_ms.count) json["time_ms"] = to_json(record.time_ms);
  if (record.validation) json["validation"] = to_json(*record.validation);
  Json telemetry = to_json(record.telemetry);
  if (!telemetry.empty()) json["telemetry"] = std::move(telemetry);
  Json usage = build::to_json(record.usage);
  if (!usage.empty()) json["usage"] = std::move(usage);
  return json;
}

Record record_from_json(const Json& json) {
  if (!json.is_object()) throw Error(ErrorKind::io, "a record is a JSON object");
  field(json, "schema", true, [](const Json& value) {
    if (value.get<int>() > Record::schema)
      throw Error(ErrorKind::io, "version " + value.dump() + " is newer than this xtune reads (" +
                                     std::to_string(Record::schema) + ")");
  });
  Record record;
  text_field(json, "kernel", record.kernel, true);
  text_field(json, "key", record.key, true);
  field(json, "key_parts", false, [&](const Json& value) { value.get_to(record.key_parts); });
  field(json, "problem", true, [&](const Json& value) { record.problem = bindings_from_json(value); });
  field(json, "config", true, [&](const Json& value) { record.config = bindings_from_json(value); });
  field(json, "outcome", true, [&](const Json& value) { record.outcome = outcome_of(value); });
  text_field(json, "stage", record.stage);
  text_field(json, "message", record.message);
  text_field(json, "log", record.log);
  field(json, "samples_ms", false, [&](const Json& value) {
    for (const Json& sample : value.get_ref<const Json::array_t&>())
      record.samples_ms.push_back(number_from_json(sample));
  });
  field(json, "reported", false, [&](const Json& value) {
    for (const auto& [name, list] : value.get_ref<const Json::object_t&>()) {
      std::vector<double>& values = record.reported.emplace_back(name, std::vector<double>()).second;
      for (const Json& each : list.get_ref<const Json::array_t&>()) values.push_back(number_from_json(each));
    }
  });
  field(json, "time_ms", false, [&](const Json& value) { record.time_ms = summary_from_json(value); });
  field(json, "validation", false, [&](const Json& value) { record.validation = comparison_from_json(value); });
  field(json, "telemetry", false, [&](const Json& value) { record.telemetry = telemetry_from_json(value); });
  field(json, "usage", false, [&](const Json& value) { record.usage = build::resource_usage_from_json(value); });
  text_field(json, "artifact_key", record.artifact_key);
  text_field(json, "artifact_sha256", record.artifact_sha256);
  field(json, "device", true, [&](const Json& value) { record.device = device_info_from_json(value); });
  text_field(json, "toolchain", record.toolchain);
  text_field(json, "host", record.host);
  text_field(json, "attempt", record.attempt);
  field(json, "tainted", false, [&](const Json& value) {
    // One text where an earlier version wrote it.
    if (value.is_string())
      record.tainted.push_back(value);
    else
      value.get_to(record.tainted);
  });
  field(json, "dynamic_shared_bytes", false, [&](const Json& value) { value.get_to(record.dynamic_shared_bytes); });
  field(json, "drift", false, [&](const Json& value) { value.get_to(record.drift); });
  text_field(json, "finals", record.finals);
  text_field(json, "finals_by", record.finals_by);
  field(json, "unix_time_ms", true, [&](const Json& value) { value.get_to(record.unix_time_ms); });
  number_field(json, "limit_s", record.limit_s);
  number_field(json, "compile_s", record.compile_s);
  number_field(json, "compile_cpu_s", record.compile_cpu_s);
  number_field(json, "bench_s", record.bench_s);
  add_driver_part(record.key_parts, record.key, record.device.driver);
  return record;
}

}  // namespace xtune::record
