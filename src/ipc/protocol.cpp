// JSON forms of the messages between driver and workers.
#include "ipc/protocol.hpp"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "core/build/artifact_json.hpp"
#include "core/build/keyed_files.hpp"
#include "core/record/record_json.hpp"

namespace xtune::device {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProgramValue, name, form, where, file, unit, row)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProgramCall, words, environment, folder, time, metrics, expect, check, outputs,
                                   timeout_s, device)

}  // namespace xtune::device

namespace xtune::ipc {

namespace {

using Json = nlohmann::json;

Outcome outcome_at(const Json& json) {
  const std::string name = json.at("outcome");
  if (const auto outcome = outcome_from_string(name)) return *outcome;
  throw Error(ErrorKind::io, "a worker answered with the unknown outcome '" + name + "'");
}

Json launch_to_json(const device::Launch& launch) {
  Json json = {{"grid", launch.grid},
               {"block", launch.block},
               {"cluster", launch.cluster},
               {"shared_bytes", launch.shared_bytes}};
  if (launch.call) json["call"] = *launch.call;
  return json;
}
device::Launch launch_from_json(const Json& json) {
  device::Launch launch;
  launch.grid = json.at("grid");
  launch.block = json.at("block");
  launch.cluster = json.at("cluster");
  launch.shared_bytes = json.at("shared_bytes");
  if (const auto call = json.find("call"); call != json.end()) launch.call = call->get<device::ProgramCall>();
  return launch;
}

Json scalars_to_json(const std::vector<measure::ScalarArgument>& scalars) {
  Json list = Json::array();
  for (const measure::ScalarArgument& scalar : scalars) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(scalar.bytes.data());
    list.push_back(Json::binary(std::vector<std::uint8_t>(bytes, bytes + scalar.size)));
  }
  return list;
}
std::vector<measure::ScalarArgument> scalars_from_json(const Json& list) {
  std::vector<measure::ScalarArgument> scalars;
  for (const Json& item : list) {
    const auto& bytes = item.get_binary();
    measure::ScalarArgument scalar;
    if (bytes.size() > scalar.bytes.size())
      throw Error(ErrorKind::io, "a scalar argument of a worker message is too long");
    scalar.size = bytes.size();
    std::memcpy(scalar.bytes.data(), bytes.data(), bytes.size());
    scalars.push_back(scalar);
  }
  return scalars;
}

Json layout_to_json(const validate::ArgumentLayout& layout) {
  return {{"name", layout.name},   {"role", static_cast<int>(layout.role)}, {"dtype", to_string(layout.dtype)},
          {"shape", layout.shape}, {"fill", static_cast<int>(layout.fill)}, {"file", layout.file.string()},
          {"at", layout.at}};
}
validate::ArgumentLayout layout_from_json(const Json& json) {
  validate::ArgumentLayout layout;
  layout.name = json.at("name");
  layout.role = static_cast<spec::ArgRole>(json.at("role").get<int>());
  layout.dtype = dtype_from_string(json.at("dtype").get<std::string>()).value();
  layout.shape = json.at("shape").get<std::vector<std::uint64_t>>();
  layout.fill = static_cast<Fill>(json.at("fill").get<int>());
  layout.file = json.at("file").get<std::string>();
  layout.at = json.at("at");
  return layout;
}

Json files_to_json(const build::KeyedFiles& keyed) {
  Json files = Json::array();
  for (const build::KeyedFile& file : keyed.files) files.push_back({file.path, file.state, file.sha256, file.recent});
  return {{"files", files}, {"absent", keyed.absent}, {"unknown", keyed.unknown}};
}
build::KeyedFiles files_from_json(const Json& json) {
  build::KeyedFiles keyed;
  for (const Json& file : json.at("files"))
    keyed.files.push_back({file.at(0), file.at(1), file.at(2), file.at(3).get<bool>()});
  keyed.absent = json.at("absent").get<std::vector<std::string>>();
  keyed.unknown = json.at("unknown").get<std::vector<std::string>>();
  return keyed;
}

Json request_to_json(const build::CompileRequest& request) {
  return {{"source_name", request.source_name},
          {"source", request.source},
          {"include_dirs", request.include_dirs},
          {"entry", request.entry},
          {"options", request.options},
          {"defines", request.defines},
          {"arch", request.arch},
          {"sanitize", request.sanitize},
          {"folder", request.folder},
          {"toolchain", request.toolchain},
          {"files", request.files ? files_to_json(*request.files) : Json()}};
}
build::CompileRequest request_from_json(const Json& json) {
  build::CompileRequest request;
  request.source_name = json.at("source_name");
  request.source = json.at("source");
  request.include_dirs = json.at("include_dirs").get<std::vector<std::string>>();
  request.entry = json.at("entry");
  request.options = json.at("options").get<std::vector<std::string>>();
  request.defines = json.at("defines").get<std::vector<std::pair<std::string, std::string>>>();
  request.arch = json.at("arch");
  request.sanitize = json.at("sanitize");
  request.folder = json.at("folder");
  request.toolchain = json.at("toolchain");
  if (const Json& files = json.at("files"); !files.is_null())
    request.files = std::make_shared<const build::KeyedFiles>(files_from_json(files));
  return request;
}

Json reference_to_json(const ReferencePlan& plan) {
  return {{"kind", static_cast<int>(plan.kind)},
          {"at", plan.at},
          {"name", plan.name},
          {"output", plan.output},
          {"arrays", plan.arrays},
          {"scalars", record::to_json(plan.scalars)},
          {"file", plan.file.string()},
          {"command", plan.command},
          {"folder", plan.folder.string()},
          {"artifact", build::to_json(plan.artifact)},
          {"launch", launch_to_json(plan.launch)},
          {"scalar_arguments", scalars_to_json(plan.scalar_arguments)}};
}
ReferencePlan reference_from_json(const Json& json) {
  ReferencePlan plan;
  plan.kind = static_cast<spec::ReferenceSpec::Kind>(json.at("kind").get<int>());
  plan.at = json.at("at");
  plan.name = json.at("name");
  plan.output = json.at("output");
  plan.arrays = json.at("arrays").get<std::vector<std::pair<std::string, std::string>>>();
  plan.scalars = record::bindings_from_json(json.at("scalars"));
  plan.file = json.at("file").get<std::string>();
  plan.command = json.at("command").get<std::vector<std::string>>();
  plan.folder = json.at("folder").get<std::string>();
  plan.artifact = build::artifact_from_json(json.at("artifact"));
  plan.launch = launch_from_json(json.at("launch"));
  plan.scalar_arguments = scalars_from_json(json.at("scalar_arguments"));
  return plan;
}

/// Members that are unset are left out.
Json rule_to_json(const validate::ToleranceRule& rule) {
  Json json = {{"ratio", rule.max_mismatched_ratio}, {"outlier_factor", rule.outlier_factor}};
  if (rule.rtol) json["rtol"] = *rule.rtol;
  if (rule.atol) json["atol"] = *rule.atol;
  if (rule.reduction) json["reduction"] = *rule.reduction;
  if (rule.accumulate) json["accumulate"] = to_string(*rule.accumulate);
  return json;
}
validate::ToleranceRule rule_from_json(const Json& json) {
  validate::ToleranceRule rule;
  rule.max_mismatched_ratio = json.at("ratio");
  rule.outlier_factor = json.at("outlier_factor");
  if (json.contains("rtol")) rule.rtol = json.at("rtol").get<double>();
  if (json.contains("atol")) rule.atol = json.at("atol").get<double>();
  if (json.contains("reduction")) rule.reduction = json.at("reduction").get<std::uint64_t>();
  if (json.contains("accumulate")) rule.accumulate = dtype_from_string(json.at("accumulate").get<std::string>());
  return rule;
}

/// The part of the protocol of measuring that the worker follows.
Json measure_to_json(const spec::MeasureSpec& measure) {
  return {{"warmup", measure.warmup},
          {"rep", measure.rep},
          {"min_rep", measure.min_rep},
          {"min_time_ms", measure.min_time_ms},
          {"max_time_ms", measure.max_time_ms},
          {"noise", measure.noise},
          {"wait_s", measure.wait_s},
          {"energy_ms", measure.energy_ms},
          {"flush", static_cast<int>(measure.flush)}};
}
spec::MeasureSpec measure_from_json(const Json& json) {
  spec::MeasureSpec measure;
  measure.warmup = json.at("warmup");
  measure.rep = json.at("rep");
  measure.min_rep = json.at("min_rep");
  measure.min_time_ms = json.at("min_time_ms");
  measure.max_time_ms = json.at("max_time_ms");
  measure.noise = json.at("noise");
  measure.wait_s = json.at("wait_s");
  measure.energy_ms = json.at("energy_ms");
  measure.flush = static_cast<spec::Flush>(json.at("flush").get<int>());
  return measure;
}

}  // namespace

Json to_json(const CompileJob& job) {
  return {{"backend", job.backend},
          {"cache", job.cache.string()},
          {"key", job.key},
          {"request", request_to_json(job.request)},
          {"scratch", job.scratch.string()},
          {"keep_in_scratch", job.keep_in_scratch}};
}
CompileJob compile_job_from_json(const Json& json) {
  return {json.at("backend"),
          json.at("cache").get<std::string>(),
          json.at("key"),
          request_from_json(json.at("request")),
          json.at("scratch").get<std::string>(),
          json.at("keep_in_scratch")};
}
std::filesystem::path scratch_cache(const std::filesystem::path& scratch) { return scratch / "cache"; }

Json to_json(const CompileAnswer& answer) {
  return {{"outcome", to_string(answer.outcome)},
          {"lack", build::to_string(answer.lack)},
          {"message", answer.message},
          {"log", answer.log},
          {"artifact", build::to_json(answer.artifact)},
          {"cached", answer.cached},
          {"cpu_s", answer.cpu_s},
          {"peak_bytes", answer.peak_bytes},
          {"warning", answer.warning}};
}
CompileAnswer compile_answer_from_json(const Json& json) {
  CompileAnswer answer;
  answer.outcome = outcome_at(json);
  answer.lack = build::lack_from_string(json.at("lack").get<std::string>());
  answer.message = json.at("message");
  answer.log = json.at("log");
  answer.artifact = build::artifact_from_json(json.at("artifact"));
  answer.cached = json.at("cached");
  answer.cpu_s = json.at("cpu_s");
  answer.peak_bytes = json.at("peak_bytes");
  answer.warning = json.at("warning");
  return answer;
}

Json to_json(const OpenJob& job) {
  Json arguments = Json::array();
  for (const ArgumentPlan& plan : job.arguments)
    arguments.push_back(plan.buffer ? layout_to_json(*plan.buffer) : Json());
  Json tolerances = Json::array();
  for (const auto& [name, rule] : job.tolerances) tolerances.push_back({{"name", name}, {"rule", rule_to_json(rule)}});
  return {{"do", "open"},
          {"check_kernel", job.check_kernel ? build::to_json(*job.check_kernel) : Json()},
          {"backend", job.backend},
          {"device", job.device},
          {"cache", job.cache.string()},
          {"scratch", job.scratch.string()},
          {"seed", job.seed},
          {"sanitize", job.sanitize},
          {"arguments", arguments},
          {"reference", reference_to_json(job.reference)},
          {"tolerances", tolerances},
          {"repeats", job.repeats},
          {"outputs", job.outputs.string()},
          {"measure", measure_to_json(job.measure)}};
}
OpenJob open_job_from_json(const Json& json) {
  OpenJob job;
  job.backend = json.at("backend");
  job.device = json.at("device");
  job.cache = json.at("cache").get<std::string>();
  job.scratch = json.at("scratch").get<std::string>();
  job.seed = json.at("seed");
  job.sanitize = json.at("sanitize");
  for (const Json& item : json.at("arguments")) {
    ArgumentPlan plan;
    if (!item.is_null()) plan.buffer = layout_from_json(item);
    job.arguments.push_back(std::move(plan));
  }
  job.reference = reference_from_json(json.at("reference"));
  for (const Json& item : json.at("tolerances"))
    job.tolerances.emplace_back(item.at("name"), rule_from_json(item.at("rule")));
  if (const Json& kernel = json.at("check_kernel"); !kernel.is_null())
    job.check_kernel = build::artifact_from_json(kernel);
  job.repeats = json.at("repeats");
  job.outputs = json.at("outputs").get<std::string>();
  job.measure = measure_from_json(json.at("measure"));
  return job;
}

Json reference_request() { return {{"do", "reference"}}; }

Json to_json(const BenchJob& job) {
  Json json = {{"do", "bench"},
               {"artifact", build::to_json(job.artifact)},
               {"launch", launch_to_json(job.launch)},
               {"scalars", scalars_to_json(job.scalars)}};
  if (job.incumbent) json["incumbent"] = {{"median_ms", job.incumbent->median_ms}, {"q3_ms", job.incumbent->q3_ms}};
  return json;
}
BenchJob bench_job_from_json(const Json& json) {
  BenchJob job{build::artifact_from_json(json.at("artifact")), launch_from_json(json.at("launch")),
               scalars_from_json(json.at("scalars")), std::nullopt};
  if (const auto found = json.find("incumbent"); found != json.end())
    job.incumbent = measure::Incumbent{found->at("median_ms"), found->at("q3_ms")};
  return job;
}

Json to_json(const RoundsJob& job) {
  Json jobs = Json::array();
  for (const BenchJob& each : job.jobs) jobs.push_back(to_json(each));
  return {{"do", "rounds"}, {"jobs", std::move(jobs)}, {"rounds", job.rounds}};
}
RoundsJob rounds_job_from_json(const Json& json) {
  RoundsJob job;
  for (const Json& each : json.at("jobs")) job.jobs.push_back(bench_job_from_json(each));
  job.rounds = json.at("rounds").get<std::vector<std::vector<std::size_t>>>();
  for (const auto& round : job.rounds)
    for (const std::size_t index : round)
      if (index >= job.jobs.size()) throw Error(ErrorKind::io, "a round of a worker message names a job it lacks");
  return job;
}

Json to_json(const RoundsAnswer& answer) {
  Json json = {{"outcome", to_string(answer.outcome)},
               {"lack", build::to_string(answer.lack)},
               {"message", answer.message},
               {"log", answer.log},
               {"samples_ms", answer.samples_ms},
               {"reported", answer.reported},
               {"taints", answer.taints},
               {"busy_s", answer.busy_s}};
  if (answer.failed) json["failed"] = *answer.failed;
  return json;
}
RoundsAnswer rounds_answer_from_json(const Json& json) {
  RoundsAnswer answer;
  answer.outcome = outcome_at(json);
  answer.lack = build::lack_from_string(json.at("lack").get<std::string>());
  answer.message = json.at("message");
  answer.log = json.at("log");
  answer.samples_ms = json.at("samples_ms").get<std::vector<std::vector<double>>>();
  answer.reported = json.at("reported").get<std::vector<Reported>>();
  answer.taints = json.at("taints").get<std::vector<std::string>>();
  answer.busy_s = json.at("busy_s");
  if (const auto found = json.find("failed"); found != json.end()) answer.failed = found->get<std::size_t>();
  return answer;
}

Json to_json(const BenchAnswer& answer) {
  Json json = {{"outcome", to_string(answer.outcome)},
               {"lack", build::to_string(answer.lack)},
               {"stage", answer.stage},
               {"message", answer.message},
               {"log", answer.log},
               {"samples_ms", answer.samples_ms},
               {"reported", answer.reported},
               {"telemetry", record::to_json(answer.telemetry)},
               {"taints", answer.taints},
               {"busy_s", answer.busy_s}};
  if (answer.validation) json["validation"] = record::to_json(*answer.validation);
  return json;
}
BenchAnswer bench_answer_from_json(const Json& json) {
  BenchAnswer answer;
  answer.outcome = outcome_at(json);
  answer.lack = build::lack_from_string(json.at("lack").get<std::string>());
  answer.stage = json.at("stage");
  answer.message = json.at("message");
  answer.log = json.at("log");
  answer.samples_ms = json.at("samples_ms").get<std::vector<double>>();
  answer.reported = json.at("reported").get<Reported>();
  answer.telemetry = record::telemetry_from_json(json.at("telemetry"));
  answer.taints = json.at("taints").get<std::vector<std::string>>();
  answer.busy_s = json.at("busy_s");
  if (const auto found = json.find("validation"); found != json.end())
    answer.validation = record::comparison_from_json(*found);
  return answer;
}

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
