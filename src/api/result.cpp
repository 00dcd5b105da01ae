// Functions of a result, and its directory: plain data as JSON and back; unset members are omitted.
#include "xtune/result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/results.hpp"
#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/bindings_form.hpp"
#include "core/store/record.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
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
    throw Error(ErrorKind::io, name + " was changed after it was saved: its SHA-256 differs from the recorded one");
}

namespace fields = base::fields;
using fields::optional, fields::required, space::bindings_form;

struct TimingForm {
  static void write(Ordered& json, const Timing& timing) {
    json = {{"samples", timing.samples}};
    each_time([&](const char* name, auto, auto member) { json[name] = timing.*member; });
  }
  static void read(const Json& json, Timing& timing) {
    timing.samples = json.at("samples");
    each_time([&](const char* name, auto, auto member) { timing.*member = json.at(name); });
  }
};

constexpr auto resources_form = fields::object<Resources>(
    optional("registers", &Resources::registers), optional("spilled_bytes", &Resources::spilled_bytes),
    optional("shared_bytes", &Resources::shared_bytes),
    optional("max_threads_per_block", &Resources::max_threads_per_block));

using MetricValue = std::pair<std::string, double>;
struct MetricForm {
  static void write(Ordered& json, const MetricValue& metric) {
    json = {metric.first, base::number_to_json(metric.second)};
  }
  static void read(const Json& json, MetricValue& metric) { metric = {json.at(0), base::number_from_json(json.at(1))}; }
};

constexpr auto outcome_form = fields::word(outcome_from_string, [](const std::string& word) {
  return "'" + word + "' is not an outcome that this version of xtune knows";
});

constexpr auto measurement_form = fields::object<Measurement>(
    required("config", &Measurement::config, bindings_form), required("outcome", &Measurement::outcome, outcome_form),
    required("stage", &Measurement::stage), optional("message", &Measurement::message),
    optional("reference_ms", &Measurement::reference_ms), required("time_ms", &Measurement::time_ms),
    required("timing", &Measurement::timing, TimingForm()), required("samples_ms", &Measurement::samples_ms),
    required("metrics", &Measurement::metrics, fields::List{MetricForm()}),
    required("resources", &Measurement::resources, resources_form), required("tainted", &Measurement::tainted),
    required("from_store", &Measurement::from_store), required("compile_s", &Measurement::compile_s),
    required("key", &Measurement::key), required("artifact_key", &Measurement::artifact_key));

Ordered measurement_json(const Measurement& measurement) {
  return sealed(measurement_form.to_json<Ordered>(measurement));
}

Measurement measurement_from(const Json& json, const std::string& name) {
  check_seal(json, name);
  return measurement_form.from_json(json);
}

constexpr auto argument_words = base::enum_words<WinningArgument::Kind>("buffer", "written", "scalar", "tensor_map",
                                                                        "constant", "structure", "scratch", "zeroed");

constexpr auto tensor_map_form = fields::object<WinningTensorMap>(
    required("of", &WinningTensorMap::of), required("tf32", &WinningTensorMap::tf32),
    required("nan_outside", &WinningTensorMap::nan_outside), required("shape", &WinningTensorMap::shape),
    required("strides", &WinningTensorMap::strides), required("box", &WinningTensorMap::box),
    required("element_strides", &WinningTensorMap::element_strides), required("swizzle", &WinningTensorMap::swizzle),
    required("l2_promotion", &WinningTensorMap::l2_promotion), required("interleave", &WinningTensorMap::interleave));

constexpr auto dtype_form = fields::word(dtype_from_string, [](const std::string& word) {
  return "'" + word + "' is not a type that this version of xtune knows";
});
constexpr auto field_form = fields::object<WinningField>(required("at_byte", &WinningField::at_byte),
                                                         required("dtype", &WinningField::dtype, dtype_form),
                                                         required("value", &WinningField::value));
constexpr auto struct_form = fields::object<WinningArgument>(
    required("bytes", &WinningArgument::bytes), required("fields", &WinningArgument::fields, fields::List{field_form}));

Ordered argument_json(const WinningArgument& argument) {
  Ordered json{
      {"name", argument.name}, {"kind", argument_words.of(argument.kind)}, {"dtype", to_string(argument.dtype)}};
  if (argument.kind == WinningArgument::Kind::scalar)
    json["value"] = argument.value;
  else if (argument.kind == WinningArgument::Kind::structure)
    struct_form.add_to(json, argument);
  else
    json["shape"] = argument.shape;
  if (argument.filled) json["filled"] = store::to_json(*argument.filled);
  if (argument.map) json["map"] = tensor_map_form.to_json<Ordered>(*argument.map);
  return json;
}

WinningArgument argument_from(const Json& json) {
  WinningArgument argument;
  argument.name = json.at("name");
  const std::string kind = json.at("kind"), dtype = json.at("dtype");
  const auto known = argument_words.find(kind);
  const auto type = dtype_from_string(dtype);
  if (!known || !type)
    throw Error(ErrorKind::io, "the argument '" + argument.name + "' is a " + kind + " of " + dtype +
                                   ", which this version of xtune does not know");
  argument.kind = *known;
  argument.dtype = *type;
  if (argument.kind == WinningArgument::Kind::scalar)
    argument.value = json.at("value");
  else if (argument.kind == WinningArgument::Kind::structure)
    struct_form.read(json, argument);
  else
    argument.shape = json.at("shape").get<std::vector<std::uint64_t>>();
  if (const auto filled = json.find("filled"); filled != json.end()) argument.filled = store::value_from_json(*filled);
  if (const auto map = json.find("map"); map != json.end()) argument.map = tensor_map_form.from_json(*map);
  return argument;
}

constexpr auto device_form = fields::object<MeasuredDevice>(
    required("backend", &MeasuredDevice::backend), required("name", &MeasuredDevice::name),
    required("arch", &MeasuredDevice::arch), required("index", &MeasuredDevice::index));

constexpr auto step_form = fields::object<WinningStep>(
    required("entry_symbol", &WinningStep::entry_symbol), required("grid", &WinningStep::grid),
    required("block", &WinningStep::block), required("cluster", &WinningStep::cluster),
    required("shared_bytes", &WinningStep::shared_bytes),
    required("static_shared_bytes", &WinningStep::static_shared_bytes), required("arguments", &WinningStep::arguments),
    optional("cooperative", &WinningStep::cooperative));

/// Versions that do not know steps refuse a result with them, because it has no grid.
constexpr auto kernel_form = fields::object<WinningKernel>(
    required("format", &WinningKernel::format), required("arch", &WinningKernel::arch),
    required("entry_symbol", &WinningKernel::entry_symbol), required("grid", &WinningKernel::grid),
    required("block", &WinningKernel::block), required("cluster", &WinningKernel::cluster),
    required("shared_bytes", &WinningKernel::shared_bytes),
    required("arguments", &WinningKernel::arguments, fields::List{fields::Through{argument_json, argument_from}}),
    optional("kernel_arguments", &WinningKernel::kernel_arguments),
    fields::unless_empty("steps", &WinningKernel::steps, fields::List{step_form}),
    optional("cooperative", &WinningKernel::cooperative));

/// By outcome, as one object.
struct CountsForm {
  static void write(Ordered& json, const std::map<Outcome, std::uint64_t>& counts) {
    json = Ordered::object();
    for (const auto& [outcome, count] : counts) json[to_string(outcome)] = count;
  }
  static void read(const Json& json, std::map<Outcome, std::uint64_t>& counts) {
    for (const auto& [name, count] : json.items()) {
      Outcome outcome{};
      outcome_form.read(Json(name), outcome);
      counts[outcome] = count.get<std::uint64_t>();
    }
  }
};

constexpr auto seconds_form =
    fields::object<Result>(required("total", &Result::total_s), required("compile_cpu", &Result::compile_cpu_s),
                           required("device_busy", &Result::device_busy_s));
constexpr auto run_form = fields::object<Result>(
    required("counts", &Result::counts, CountsForm()), required("from_store", &Result::from_store),
    required("space", &Result::space_size), required("seconds", std::identity(), seconds_form),
    required("interrupted", &Result::interrupted), required("out_of_time", &Result::out_of_time),
    required("warnings", &Result::warnings), optional("no_binary", &Result::no_binary));

}  // namespace

Ordered best_config_json(const Result& result) {
  Ordered json;
  json["schema"] = schema;
  json["kernel"] = result.kernel_name;
  json["problem"] = store::to_json(result.problem);
  json["device"] = device_form.to_json<Ordered>(result.device);
  json["toolchain"] = result.toolchain;
  json["config"] = store::to_json(result.best().config);
  json["time_ms"] = result.best().time_ms;
  json["interval_ms"] = {result.best().timing.low_ms, result.best().timing.high_ms};
  if (result.binary) {
    Ordered& binary = json["binary"] = kernel_form.to_json<Ordered>(*result.binary);
    binary["sha256"] = base::sha256(result.binary->binary);
    binary["source_sha256"] = base::sha256(result.binary->source);
  }
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
  run_form.add_to(json, result);
  return sealed(std::move(json));
}

SavedBinary read_best_config(const Json& json, Result& result) {
  check_schema(json);
  const auto is_best = [&](const char* name, const Json& of_latency) {
    if (json.at(name) != of_latency)
      throw Error(ErrorKind::io, fmt::format("{} is {}, and the best measurement of latency.json has {}", name,
                                             json.at(name).dump(), of_latency.dump()));
  };
  is_best("config", store::to_json(result.best().config));
  is_best("time_ms", result.best().time_ms);
  is_best("interval_ms", {result.best().timing.low_ms, result.best().timing.high_ms});
  check_seal(json, "what it says");
  result.kernel_name = json.at("kernel");
  result.problem = store::bindings_from_json(json.at("problem"));
  result.device = device_form.from_json(json.at("device"));
  result.toolchain = json.at("toolchain");
  const auto found = json.find("binary");
  if (found == json.end()) return {};
  WinningKernel kernel = kernel_form.from_json(*found);
  const auto is_launch = [](const auto& of) {
    return of.grid.size() == 3 && of.block.size() == 3 && of.cluster.size() == 3;
  };
  if (kernel.steps.empty() ? !is_launch(kernel) : !std::all_of(kernel.steps.begin(), kernel.steps.end(), is_launch))
    throw Error(ErrorKind::io, "grid, block and cluster need three extents each");
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
  run_form.read(json, result);
  check_seal(json, "what it says");
}

namespace {

constexpr const char* best_file = "best_config.json";
constexpr const char* latency_file = "latency.json";
constexpr const char* source_file = "kernel.cu";

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// Reads one of the files; errors are reported with its path.
void take_in(const std::filesystem::path& path, const std::string& text,
             const std::function<void(const nlohmann::json&)>& take) {
  try {
    take(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::io, path.string() + " is not a saved result: " + base::json_error_text(error));
  } catch (const Error& error) {
    throw Error(ErrorKind::io, path.string() + ": " + error.what());
  }
}

/// The file system takes "" for the working directory, but it is probably a mistake of the caller.
void require_folder(const std::filesystem::path& folder, const char* who) {
  if (folder.empty())
    throw Error(ErrorKind::invalid_argument,
                std::string(who) + ": the directory has no name; \".\" is the working directory");
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder, ignored))
    throw Error(ErrorKind::invalid_argument, std::string(who) + ": " + base::printable(folder.string()) +
                                                 " is a file, and a saved result is a directory with " + best_file +
                                                 " and other files: name a directory");
}

/// For a file that a directory from elsewhere names: never a path outside of it.
std::string binary_name(const std::string& format) {
  const bool plain = !format.empty() && format.size() <= 16 &&
                     format.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
  if (!plain) throw Error(ErrorKind::io, "'" + format + "' is not a format of a binary (cubin, hsaco, so)");
  return "kernel." + format;
}

/// " (TFLOPS is inf)": of the first configuration that ran; empty: all are finite.
std::string infinite_metrics(const std::vector<Measurement>& measurements) {
  const auto ran = std::find_if(measurements.begin(), measurements.end(),
                                [](const Measurement& each) { return each.outcome == Outcome::ok; });
  if (ran == measurements.end()) return "";
  std::string text;
  for (const auto& [name, value] : ran->metrics)
    if (!std::isfinite(value)) text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

const Measurement& Result::best() const {
  if (winner) return *winner;
  if (prediction)
    throw Error(ErrorKind::nothing_valid,
                "effort is none: nothing of '" + kernel_name + "' was measured, and there is only a prediction");
  std::string message = "no configuration of '" + kernel_name + "' passed";
  if (interrupted) message += "; the run was interrupted";
  if (out_of_time) message += "; its time was up";
  std::vector<Failed> failures;
  for (const Measurement& each : measurements) failures.push_back({each.outcome, each.message});
  if (!failures.empty()) message += ": " + failures_text(failures);
  if (counts.contains(Outcome::ok))
    message += ". What ran gave the goal no finite value" + infinite_metrics(measurements);
  throw Error(ErrorKind::nothing_valid, message);
}

void Result::save(const std::filesystem::path& folder) const {
  require_folder(folder, "Result::save");
  const nlohmann::ordered_json best_config = best_config_json(*this);
  if (binary) {
    system::write_file_atomically(folder / binary_name(binary->format), binary->binary);
    if (!binary->source.empty()) system::write_file_atomically(folder / source_file, binary->source);
  }
  system::write_file_atomically(folder / latency_file, dump(latency_json(*this)));
  system::write_file_atomically(folder / best_file, dump(best_config));
}

Result Result::load(const std::filesystem::path& folder) {
  require_folder(folder, "Result::load");
  Result result;
  SavedBinary saved;
  const std::string best = system::read_file_of_named(folder, best_file),
                    latency = system::read_file_of_named(folder, latency_file);
  take_in(folder / latency_file, latency, [&](const nlohmann::json& json) { read_latency(json, result); });
  take_in(folder / best_file, best, [&](const nlohmann::json& json) {
    saved = read_best_config(json, result);
    if (result.binary) binary_name(result.binary->format);
  });
  if (!result.binary) return result;
  const auto read_saved = [&](const std::string& name, const std::string& hash, const char* what) {
    std::string contents = system::read_file_of_named(folder, name);
    if (base::sha256(contents) != hash)
      throw Error(ErrorKind::io, (folder / name).string() + " is not the " + what +
                                     " that was saved: its SHA-256 differs from " + (folder / best_file).string() +
                                     "'s");
    return contents;
  };
  result.binary->binary = read_saved(binary_name(result.binary->format), saved.sha256, "binary");
  // The directory may have been copied without the source; a source of an earlier result must not remain.
  std::error_code ignored;
  if (saved.source_sha256 != base::sha256("") && std::filesystem::exists(folder / source_file, ignored))
    result.binary->source = read_saved(source_file, saved.source_sha256, "source");
  return result;
}

}  // namespace xtune
