// JSON forms of the messages between driver and workers.
#include "ipc/protocol.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "core/build/artifact_json.hpp"
#include "core/build/keyed_files.hpp"
#include "core/record/record.hpp"
#include "core/spec/section.hpp"

namespace xtune::ipc {
namespace {

using Json = nlohmann::json;
using device::Launch;
using device::LaunchPlan;
using device::ProgramCall;
using device::ProgramValue;
using device::Step;
using measure::TensorMap;
using validate::ArgumentLayout;
using validate::ToleranceRule;
namespace fields = base::fields;
using fields::optional, fields::required;

struct ScalarForm {
  static void write(Json& json, const measure::ScalarArgument& scalar) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(scalar.bytes.data());
    json = Json::binary(std::vector<std::uint8_t>(bytes, bytes + scalar.size));
  }
  static void read(const Json& json, measure::ScalarArgument& scalar) {
    const auto& bytes = json.get_binary();
    if (bytes.size() > scalar.bytes.size())
      throw Error(ErrorKind::io, "a scalar argument of a worker message is too long");
    scalar.size = bytes.size();
    std::ranges::copy(std::as_bytes(std::span(bytes)), scalar.bytes.begin());
  }
};

constexpr auto dtype_form = fields::word(dtype_from_string, [](const std::string& word) {
  return "a worker message has the unknown element type '" + word + "'";
});

constexpr auto map_form = fields::object<TensorMap>(
    required("dtype", &TensorMap::dtype, dtype_form), required("tf32", &TensorMap::tf32),
    required("shape", &TensorMap::shape), required("box", &TensorMap::box),
    required("element_strides", &TensorMap::element_strides), required("strides", &TensorMap::strides),
    required("swizzle", &TensorMap::swizzle), required("l2_promotion", &TensorMap::l2_promotion),
    required("interleave", &TensorMap::interleave), required("nan_outside", &TensorMap::nan_outside));

constexpr auto scalars_form = fields::List{ScalarForm()};
constexpr auto bindings_form =
    fields::Through{[](const Bindings& bindings) { return record::to_json(bindings); }, record::bindings_from_json};
constexpr auto artifact_form = fields::Through{[](const build::Artifact& artifact) { return build::to_json(artifact); },
                                               build::artifact_from_json};
constexpr auto outcome_form = fields::word(outcome_from_string, [](const std::string& word) {
  return "a worker answered with the unknown outcome '" + word + "'";
});
constexpr auto lack_form =
    fields::Through{[](build::Lack lack) { return build::to_string(lack); },
                    [](const Json& json) { return build::lack_from_string(json.get<std::string>()); }};

constexpr auto value_form =
    fields::object<ProgramValue>(required("name", &ProgramValue::name), required("form", &ProgramValue::form),
                                 required("where", &ProgramValue::where), required("file", &ProgramValue::file),
                                 required("unit", &ProgramValue::unit), required("row", &ProgramValue::row));

constexpr auto call_form = fields::object<ProgramCall>(
    required("words", &ProgramCall::words), required("environment", &ProgramCall::environment),
    required("folder", &ProgramCall::folder), required("time", &ProgramCall::time, value_form),
    required("metrics", &ProgramCall::metrics, fields::List{value_form}), required("expect", &ProgramCall::expect),
    required("check", &ProgramCall::check), required("outputs", &ProgramCall::outputs),
    required("timeout_s", &ProgramCall::timeout_s), required("device", &ProgramCall::device),
    required("request", &ProgramCall::request), required("checks", &ProgramCall::checks),
    required("start_timeout_s", &ProgramCall::start_timeout_s));

constexpr auto launch_form =
    fields::object<Launch>(required("grid", &Launch::grid), required("block", &Launch::block),
                           required("cluster", &Launch::cluster), required("shared_bytes", &Launch::shared_bytes));
constexpr auto step_form =
    fields::object<Step>(required("launch", &Step::launch, launch_form), required("kernel", &Step::kernel),
                         optional("arguments", &Step::arguments), required("name", &Step::name, fields::exact_text));
constexpr auto plan_form = fields::object<LaunchPlan>(required("steps", &LaunchPlan::steps, fields::List{step_form}),
                                                      optional("call", &LaunchPlan::call, call_form));

struct BytesForm {
  static void write(Json& json, const std::vector<std::byte>& bytes) {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    json = Json::binary(std::vector<std::uint8_t>(begin, begin + bytes.size()));
  }
  static void read(const Json& json, std::vector<std::byte>& bytes) {
    const auto from = std::as_bytes(std::span(static_cast<const std::vector<std::uint8_t>&>(json.get_binary())));
    bytes.assign(from.begin(), from.end());
  }
};

constexpr auto layout_form = fields::object<ArgumentLayout>(
    required("name", &ArgumentLayout::name), required("role", &ArgumentLayout::role),
    required("dtype", &ArgumentLayout::dtype, dtype_form), required("shape", &ArgumentLayout::shape),
    required("fill", &ArgumentLayout::fill), required("file", &ArgumentLayout::file, fields::path),
    required("at", &ArgumentLayout::at), optional("value", &ArgumentLayout::value, BytesForm()),
    optional("integers", &ArgumentLayout::integers));

struct FileForm {
  static void write(Json& json, const build::KeyedFile& file) {
    json = {file.path, file.state, file.sha256, file.recent};
  }
  static void read(const Json& json, build::KeyedFile& file) {
    file = {json.at(0), json.at(1), json.at(2), json.at(3)};
  }
};
constexpr auto files_form = fields::object<build::KeyedFiles>(
    required("files", &build::KeyedFiles::files, fields::List{FileForm()}),
    required("absent", &build::KeyedFiles::absent), required("unknown", &build::KeyedFiles::unknown));

constexpr auto manifest_form = fields::object<build::Manifest>(required("files", &build::Manifest::files),
                                                               required("absent", &build::Manifest::absent));

using Request = build::CompileRequest;
constexpr auto request_form = fields::object<Request>(
    required("source_name", &Request::source_name), required("source", &Request::source),
    required("first_line", &Request::first_line), required("include_dirs", &Request::include_dirs),
    required("entry", &Request::entry), required("options", &Request::options), required("defines", &Request::defines),
    required("arch", &Request::arch), required("sanitize", &Request::sanitize), required("folder", &Request::folder),
    required("toolchain", &Request::toolchain), optional("variables", &Request::variables),
    optional("more_entries", &Request::more_entries), required("files", &Request::files, fields::Nullable{files_form}),
    required("base_key", &Request::base_key),
    required("known_manifests", &Request::known_manifests, fields::List{manifest_form}),
    required("run", &Request::run));

constexpr auto reference_form = fields::object<run::ReferencePlan>(
    required("kind", &run::ReferencePlan::kind), required("at", &run::ReferencePlan::at),
    required("name", &run::ReferencePlan::name), required("output", &run::ReferencePlan::output),
    required("arrays", &run::ReferencePlan::arrays), required("scalars", &run::ReferencePlan::scalars, bindings_form),
    required("file", &run::ReferencePlan::file, fields::path), required("command", &run::ReferencePlan::command),
    required("folder", &run::ReferencePlan::folder, fields::path),
    required("artifact", &run::ReferencePlan::artifact, artifact_form),
    required("launch", &run::ReferencePlan::launch, plan_form),
    required("scalar_arguments", &run::ReferencePlan::scalar_arguments, scalars_form),
    required("constants", &run::ReferencePlan::constants),
    required("scratch", &run::ReferencePlan::scratch, fields::List{layout_form}),
    required("maps", &run::ReferencePlan::maps, fields::List{map_form}));

constexpr auto rule_form = fields::object<ToleranceRule>(
    required("ratio", &ToleranceRule::max_mismatched_ratio), required("outlier_factor", &ToleranceRule::outlier_factor),
    optional("rtol", &ToleranceRule::rtol), optional("atol", &ToleranceRule::atol),
    optional("reduction", &ToleranceRule::reduction), optional("accumulate", &ToleranceRule::accumulate, dtype_form));
using NamedRule = std::pair<std::string, ToleranceRule>;
constexpr auto named_rule_form =
    fields::object<NamedRule>(required("name", &NamedRule::first), required("rule", &NamedRule::second, rule_form));

constexpr auto compile_job_form = fields::object<run::CompileJob>(
    required("backend", &run::CompileJob::backend), required("cache", &run::CompileJob::cache, fields::path),
    required("key", &run::CompileJob::key), required("request", &run::CompileJob::request, request_form),
    required("scratch", &run::CompileJob::scratch, fields::path),
    required("keep_in_scratch", &run::CompileJob::keep_in_scratch),
    optional("expected_s", &run::CompileJob::expected_s));

constexpr auto compile_answer_form = fields::object<run::CompileAnswer>(
    required("outcome", &run::CompileAnswer::outcome, outcome_form),
    required("lack", &run::CompileAnswer::lack, lack_form), required("message", &run::CompileAnswer::message),
    required("log", &run::CompileAnswer::log), required("artifact", &run::CompileAnswer::artifact, artifact_form),
    required("cached", &run::CompileAnswer::cached), required("cpu_s", &run::CompileAnswer::cpu_s),
    required("peak_bytes", &run::CompileAnswer::peak_bytes), required("warning", &run::CompileAnswer::warning));

struct ArgumentForm : fields::Nullable<decltype(layout_form)> {
  void write(Json& json, const run::ArgumentPlan& plan) const {
    if (plan.map_of)
      json = *plan.map_of;
    else
      plan.scratch ? void(json = true) : Nullable::write(json, plan.buffer);
  }
  void read(const Json& json, run::ArgumentPlan& plan) const {
    plan.scratch = json.is_boolean();
    if (json.is_number())
      plan.map_of = json.get<std::size_t>();
    else if (!plan.scratch)
      Nullable::read(json, plan.buffer);
  }
};
constexpr auto type_form = fields::object<measure::ArgumentType>(
    required("name", &measure::ArgumentType::name), required("dtype", &measure::ArgumentType::dtype, dtype_form),
    required("is_buffer", &measure::ArgumentType::is_buffer),
    required("is_tensor_map", &measure::ArgumentType::is_tensor_map));
constexpr auto open_job_form = fields::object<run::OpenJob>(
    fields::Constant{"do", "open"}, required("backend", &run::OpenJob::backend),
    required("device", &run::OpenJob::device), required("cache", &run::OpenJob::cache, fields::path),
    required("scratch", &run::OpenJob::scratch, fields::path), required("seed", &run::OpenJob::seed),
    required("sanitize", &run::OpenJob::sanitize),
    required("arguments", &run::OpenJob::arguments, fields::List{ArgumentForm{{layout_form}}}),
    required("constants", &run::OpenJob::constants, fields::List{layout_form}),
    required("types", &run::OpenJob::types, fields::List{type_form}),
    required("reference", &run::OpenJob::reference, reference_form),
    required("tolerances", &run::OpenJob::tolerances, fields::List{named_rule_form}),
    required("check_kernel", &run::OpenJob::check_kernel, fields::Nullable{artifact_form}),
    required("check", &run::OpenJob::check), required("check_at", &run::OpenJob::check_at),
    required("folder", &run::OpenJob::folder, fields::path), required("repeats", &run::OpenJob::repeats),
    required("must_repeat", &run::OpenJob::must_repeat), required("time_reference", &run::OpenJob::time_reference),
    required("outputs", &run::OpenJob::outputs, fields::path),
    required("measure", &run::OpenJob::measure, spec::measure_section));

constexpr auto incumbent_form = fields::object<measure::Incumbent>(
    required("median_ms", &measure::Incumbent::median_ms), required("q3_ms", &measure::Incumbent::q3_ms));
constexpr auto bench_job_form = fields::object<run::BenchJob>(
    fields::Constant{"do", "bench"}, required("artifact", &run::BenchJob::artifact, artifact_form),
    required("launch", &run::BenchJob::launch, plan_form), required("scalars", &run::BenchJob::scalars, scalars_form),
    optional("incumbent", &run::BenchJob::incumbent, incumbent_form),
    required("config", &run::BenchJob::config, bindings_form),
    required("scratch", &run::BenchJob::scratch, fields::List{layout_form}),
    optional("inputs_seed", &run::BenchJob::inputs_seed),
    required("maps", &run::BenchJob::maps, fields::List{map_form}),
    optional("validate_only", &run::BenchJob::validate_only));

constexpr auto telemetry_form =
    fields::Through{[](const measure::Telemetry& of) { return record::to_json(of); }, record::telemetry_from_json};
constexpr auto comparison_form =
    fields::Through{[](const validate::Comparison& of) { return record::to_json(of); }, record::comparison_from_json};
constexpr auto repeatability_form = fields::Through{
    [](const validate::Repeatability& of) { return record::to_json(of); }, record::repeatability_from_json};
constexpr auto bench_answer_form = fields::object<run::BenchAnswer>(
    required("outcome", &run::BenchAnswer::outcome, outcome_form), required("lack", &run::BenchAnswer::lack, lack_form),
    required("stage", &run::BenchAnswer::stage), required("message", &run::BenchAnswer::message),
    required("log", &run::BenchAnswer::log), required("samples_ms", &run::BenchAnswer::samples_ms),
    required("reported", &run::BenchAnswer::reported),
    required("telemetry", &run::BenchAnswer::telemetry, telemetry_form), required("taints", &run::BenchAnswer::taints),
    optional("changed", &run::BenchAnswer::changed), required("busy_s", &run::BenchAnswer::busy_s),
    optional("validation", &run::BenchAnswer::validation, comparison_form),
    optional("repeatable", &run::BenchAnswer::repeatable, repeatability_form));

constexpr auto rounds_job_form = fields::object<run::RoundsJob>(
    fields::Constant{"do", "rounds"}, required("jobs", &run::RoundsJob::jobs, fields::List{bench_job_form}),
    required("rounds", &run::RoundsJob::rounds), optional("time_reference", &run::RoundsJob::time_reference));

constexpr auto rounds_answer_form = fields::object<run::RoundsAnswer>(
    required("outcome", &run::RoundsAnswer::outcome, outcome_form),
    required("lack", &run::RoundsAnswer::lack, lack_form), required("message", &run::RoundsAnswer::message),
    required("log", &run::RoundsAnswer::log), required("samples_ms", &run::RoundsAnswer::samples_ms),
    required("reported", &run::RoundsAnswer::reported), required("taints", &run::RoundsAnswer::taints),
    required("busy_s", &run::RoundsAnswer::busy_s), optional("failed", &run::RoundsAnswer::failed),
    optional("reference_ms", &run::RoundsAnswer::reference_ms));

}  // namespace

Json to_json(const run::CompileJob& job) { return compile_job_form.to_json(job); }
run::CompileJob compile_job_from_json(const Json& json) { return compile_job_form.from_json(json); }

Json to_json(const run::CompileAnswer& answer) { return compile_answer_form.to_json(answer); }
run::CompileAnswer compile_answer_from_json(const Json& json) { return compile_answer_form.from_json(json); }

Json to_json(const run::OpenJob& job) { return open_job_form.to_json(job); }
run::OpenJob open_job_from_json(const Json& json) { return open_job_form.from_json(json); }

Json to_json(const run::BenchJob& job) { return bench_job_form.to_json(job); }
run::BenchJob bench_job_from_json(const Json& json) { return bench_job_form.from_json(json); }

Json to_json(const run::BenchAnswer& answer) { return bench_answer_form.to_json(answer); }
run::BenchAnswer bench_answer_from_json(const Json& json) { return bench_answer_form.from_json(json); }

Json to_json(const run::RoundsAnswer& answer) { return rounds_answer_form.to_json(answer); }
run::RoundsAnswer rounds_answer_from_json(const Json& json) { return rounds_answer_form.from_json(json); }

Json to_json(const run::RoundsJob& job) { return rounds_job_form.to_json(job); }
run::RoundsJob rounds_job_from_json(const Json& json) {
  run::RoundsJob job = rounds_job_form.from_json(json);
  for (const auto& round : job.rounds)
    for (const std::size_t index : round)
      if (index >= job.jobs.size()) throw Error(ErrorKind::io, "a round of a worker message names a job it lacks");
  return job;
}

std::filesystem::path scratch_cache(const std::filesystem::path& scratch) { return scratch / "cache"; }

Json reference_request() { return {{"do", "reference"}}; }

Json error_to_json(ErrorKind kind, const std::string& message) {
  return {{"error", to_string(kind)}, {"message", message}};
}

Json error_to_json(const MissingArtifact& error) {
  Json json = error_to_json(error.kind(), error.what());
  json["missing_artifact"] = error.key();
  return json;
}

std::string missing_artifact_in(const Json& answer) { return answer.value("missing_artifact", ""); }

MissingArtifact::MissingArtifact(std::string key, const std::filesystem::path& cache)
    : Error(ErrorKind::io, "artifact " + base::printable(key, 80) + " is missing from or damaged in " +
                               base::printable(cache.string()) + "; run again to compile it again"),
      key_(std::move(key)) {}

void throw_if_error(const Json& answer) {
  const auto error = answer.find("error");
  if (error == answer.end()) return;
  if (std::string key = missing_artifact_in(answer); !key.empty()) throw MissingArtifact(std::move(key), "the store");
  const std::string name = *error;
  for (const ErrorKind kind : {ErrorKind::invalid_spec, ErrorKind::invalid_argument, ErrorKind::unavailable,
                               ErrorKind::unsupported, ErrorKind::nothing_valid, ErrorKind::io, ErrorKind::interrupted})
    if (name == to_string(kind)) throw Error(kind, answer.at("message"));
  throw Error(ErrorKind::io, "a worker failed: " + answer.at("message").get<std::string>());
}

}  // namespace xtune::ipc
