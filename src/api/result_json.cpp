// A result's plain data to JSON and back; members that are unset are left out.
#include "api/result_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/timing.hpp"
#include "base/hash.hpp"
#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "core/record/record_json.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr int schema = 2;

void check_schema(const Json& json) {
  const int found = json.at("schema");
  if (found != schema)
    throw Error(ErrorKind::io, "it has schema " + std::to_string(found) + ", and this version of xtune reads schema " +
                                   std::to_string(schema));
}

/// SHA-256 over all other members, in the order of their names.
std::string hash_of(Json json) {
  json.erase("sha256");
  return base::sha256(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Ordered sealed(Ordered json) {
  json["sha256"] = hash_of(Json(json));
  return json;
}

void check_seal(const Json& json, const std::string& name) {
  if (json.at("sha256").get<std::string>() != hash_of(json))
    throw Error(ErrorKind::io, name + " was changed after it was saved: its SHA-256 is not the one that it says");
}

Ordered timing_json(const Timing& timing) {
  Ordered json{{"samples", timing.samples}};
  each_time([&](const char* name, auto, auto member) { json[name] = timing.*member; });
  return json;
}

Timing timing_from(const Json& json) {
  Timing timing;
  timing.samples = json.at("samples");
  each_time([&](const char* name, auto, auto member) { timing.*member = json.at(name); });
  return timing;
}

template <class Number>
void put(Ordered& json, const char* name, const std::optional<Number>& value) {
  if (value) json[name] = *value;
}
template <class Number>
void take(const Json& json, const char* name, std::optional<Number>& value) {
  if (const auto found = json.find(name); found != json.end()) value = found->get<Number>();
}

Ordered measurement_json(const Measurement& measurement) {
  Ordered json;
  json["config"] = record::to_json(measurement.config);
  json["outcome"] = to_string(measurement.outcome);
  json["stage"] = measurement.stage;
  if (!measurement.message.empty()) json["message"] = measurement.message;
  json["time_ms"] = measurement.time_ms;
  json["timing"] = timing_json(measurement.timing);
  json["samples_ms"] = measurement.samples_ms;
  json["metrics"] = Ordered::array();
  for (const auto& [name, value] : measurement.metrics)
    json["metrics"].push_back({name, base::number_to_json(value)});
  const Resources& resources = measurement.resources;
  Ordered& taken = json["resources"] = Ordered::object();
  put(taken, "registers", resources.registers);
  put(taken, "spilled_bytes", resources.spilled_bytes);
  put(taken, "shared_bytes", resources.shared_bytes);
  put(taken, "max_threads_per_block", resources.max_threads_per_block);
  json["tainted"] = measurement.tainted;
  json["from_store"] = measurement.from_store;
  json["compile_s"] = measurement.compile_s;
  json["key"] = measurement.key;
  json["artifact_key"] = measurement.artifact_key;
  return sealed(std::move(json));
}

Outcome outcome_from(const std::string& name) {
  if (const auto outcome = outcome_from_string(name)) return *outcome;
  throw Error(ErrorKind::io, "'" + name + "' is no outcome that this version of xtune knows");
}

Measurement measurement_from(const Json& json, const std::string& name) {
  check_seal(json, name);
  Measurement measurement;
  measurement.config = record::bindings_from_json(json.at("config"));
  measurement.outcome = outcome_from(json.at("outcome"));
  measurement.stage = json.at("stage");
  measurement.message = json.value("message", "");
  measurement.time_ms = json.at("time_ms");
  measurement.timing = timing_from(json.at("timing"));
  measurement.samples_ms = json.at("samples_ms").get<std::vector<double>>();
  for (const Json& metric : json.at("metrics"))
    measurement.metrics.emplace_back(metric.at(0), base::number_from_json(metric.at(1)));
  const Json& taken = json.at("resources");
  take(taken, "registers", measurement.resources.registers);
  take(taken, "spilled_bytes", measurement.resources.spilled_bytes);
  take(taken, "shared_bytes", measurement.resources.shared_bytes);
  take(taken, "max_threads_per_block", measurement.resources.max_threads_per_block);
  measurement.tainted = json.at("tainted").get<std::vector<std::string>>();
  measurement.from_store = json.at("from_store");
  measurement.compile_s = json.at("compile_s");
  measurement.key = json.at("key");
  measurement.artifact_key = json.at("artifact_key");
  return measurement;
}

constexpr std::array<const char*, 4> argument_kinds{"buffer", "written", "scalar", "tensor_map"};

Ordered arguments_json(const std::vector<WinningArgument>& arguments) {
  Ordered list = Ordered::array();
  for (const WinningArgument& argument : arguments) {
    Ordered json{{"name", argument.name},
                 {"kind", argument_kinds.at(static_cast<std::size_t>(argument.kind))},
                 {"dtype", to_string(argument.dtype)}};
    if (argument.kind == WinningArgument::Kind::scalar)
      json["value"] = argument.value;
    else
      json["shape"] = argument.shape;
    if (argument.filled) json["filled"] = record::to_json(*argument.filled);
    list.push_back(std::move(json));
  }
  return list;
}

WinningArgument argument_from(const Json& json) {
  WinningArgument argument;
  argument.name = json.at("name");
  const std::string kind = json.at("kind"), dtype = json.at("dtype");
  const auto known = std::find(argument_kinds.begin(), argument_kinds.end(), kind);
  const auto type = dtype_from_string(dtype);
  if (known == argument_kinds.end() || !type)
    throw Error(ErrorKind::io, "the argument '" + argument.name + "' is a " + kind + " of " + dtype +
                                   ", and this version of xtune knows no such thing");
  argument.kind = static_cast<WinningArgument::Kind>(known - argument_kinds.begin());
  argument.dtype = *type;
  if (argument.kind == WinningArgument::Kind::scalar)
    argument.value = json.at("value");
  else
    argument.shape = json.at("shape").get<std::vector<std::uint64_t>>();
  if (const auto filled = json.find("filled"); filled != json.end()) argument.filled = record::value_from_json(*filled);
  return argument;
}

}  // namespace

Ordered best_config_json(const Result& result) {
  Ordered json;
  json["schema"] = schema;
  json["kernel"] = result.kernel_name;
  json["problem"] = record::to_json(result.problem);
  json["device"] = {{"backend", result.device.backend},
                    {"name", result.device.name},
                    {"arch", result.device.arch},
                    {"index", result.device.index}};
  json["toolchain"] = result.toolchain;
  json["config"] = record::to_json(result.best().config);
  json["time_ms"] = result.best().time_ms;
  json["interval_ms"] = {result.best().timing.low_ms, result.best().timing.high_ms};
  if (result.binary)
    json["binary"] = {{"format", result.binary->format},
                      {"arch", result.binary->arch},
                      {"entry_symbol", result.binary->entry_symbol},
                      {"grid", result.binary->grid},
                      {"block", result.binary->block},
                      {"cluster", result.binary->cluster},
                      {"shared_bytes", result.binary->shared_bytes},
                      {"arguments", arguments_json(result.binary->arguments)},
                      {"sha256", base::sha256(result.binary->binary)},
                      {"source_sha256", base::sha256(result.binary->source)}};
  return sealed(std::move(json));
}

Ordered latency_json(const Result& result) {
  Ordered json;
  json["schema"] = schema;
  json["best"] = measurement_json(result.best());
  json["ties"] = json["measurements"] = Ordered::array();
  if (const auto& across = result.across)
    json["across"] = {{"rule", to_string(across->rule)},
                      {"score", across->score},
                      {"ratio", across->ratio},
                      {"measurement", measurement_json(across->measurement)}};
  for (const Measurement& each : result.ties) json["ties"].push_back(measurement_json(each));
  for (const Measurement& each : result.measurements) json["measurements"].push_back(measurement_json(each));
  json["counts"] = Ordered::object();
  for (const auto& [outcome, count] : result.counts) json["counts"][to_string(outcome)] = count;
  json["from_store"] = result.from_store;
  json["space"] = result.space_size;
  json["seconds"] = {
      {"total", result.total_s}, {"compile_cpu", result.compile_cpu_s}, {"device_busy", result.device_busy_s}};
  json["interrupted"] = result.interrupted;
  json["out_of_time"] = result.out_of_time;
  json["warnings"] = result.warnings;
  return sealed(std::move(json));
}

SavedBinary read_best_config(const Json& json, Result& result) {
  check_schema(json);
  const auto is_best = [&](const char* name, const Json& of_latency) {
    if (json.at(name) != of_latency)
      throw Error(ErrorKind::io, fmt::format("{} is {}, and the best measurement of latency.json has {}", name,
                                             json.at(name).dump(), of_latency.dump()));
  };
  is_best("config", record::to_json(result.best().config));
  is_best("time_ms", result.best().time_ms);
  is_best("interval_ms", {result.best().timing.low_ms, result.best().timing.high_ms});
  check_seal(json, "what it says");
  result.kernel_name = json.at("kernel");
  result.problem = record::bindings_from_json(json.at("problem"));
  const Json& device = json.at("device");
  result.device = {device.at("backend"), device.at("name"), device.at("arch"), device.at("index")};
  result.toolchain = json.at("toolchain");
  const auto found = json.find("binary");
  if (found == json.end()) return {};
  WinningKernel kernel;
  kernel.format = found->at("format");
  kernel.arch = found->at("arch");
  kernel.entry_symbol = found->at("entry_symbol");
  kernel.grid = found->at("grid").get<std::vector<std::uint32_t>>();
  kernel.block = found->at("block").get<std::vector<std::uint32_t>>();
  kernel.cluster = found->at("cluster").get<std::vector<std::uint32_t>>();
  if (kernel.grid.size() != 3 || kernel.block.size() != 3 || kernel.cluster.size() != 3)
    throw Error(ErrorKind::io, "grid, block and cluster need three extents each");
  kernel.shared_bytes = found->at("shared_bytes");
  for (const Json& argument : found->at("arguments")) kernel.arguments.push_back(argument_from(argument));
  result.binary = std::move(kernel);
  return {found->at("sha256"), found->at("source_sha256")};
}

AcrossRule rule_from(const std::string& word) {
  for (const AcrossRule rule : {AcrossRule::geomean, AcrossRule::worst})
    if (word == to_string(rule)) return rule;
  throw Error(ErrorKind::io, "across.rule is '" + base::printable(word, 80) + "'; expected geomean or worst");
}

void read_latency(const Json& json, Result& result) {
  check_schema(json);
  result.winner = measurement_from(json.at("best"), "best");
  if (const auto across = json.find("across"); across != json.end())
    result.across = Across{rule_from(across->at("rule")), across->at("score"), across->at("ratio"),
                           measurement_from(across->at("measurement"), "across.measurement")};
  const auto read_list = [&](const std::string& name, std::vector<Measurement>& into) {
    for (const Json& each : json.at(name))
      into.push_back(measurement_from(each, name + "[" + std::to_string(into.size()) + "]"));
  };
  read_list("ties", result.ties);
  read_list("measurements", result.measurements);
  for (const auto& [name, count] : json.at("counts").items())
    result.counts[outcome_from(name)] = count.get<std::uint64_t>();
  result.from_store = json.at("from_store");
  result.space_size = json.at("space");
  result.total_s = json.at("seconds").at("total");
  result.compile_cpu_s = json.at("seconds").at("compile_cpu");
  result.device_busy_s = json.at("seconds").at("device_busy");
  result.interrupted = json.at("interrupted");
  result.out_of_time = json.at("out_of_time");
  result.warnings = json.at("warnings").get<std::vector<std::string>>();
  check_seal(json, "what it says");
}

}  // namespace xtune
