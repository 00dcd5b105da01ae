// The messages between the driver and its worker processes: plain structures, their JSON form, and the files beside
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/shortage.hpp"
#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"
#include "core/measure/race.hpp"
#include "core/measure/statistics.hpp"
#include "core/spec/spec.hpp"
#include "core/validate/compare.hpp"
#include "core/validate/inputs.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::ipc {

/// Driver to compile worker: compile, put into the cache, answer without the image.
struct CompileJob {
  std::string backend;
  std::filesystem::path cache;  ///< directory of the ArtifactCache
  std::string key;
  build::CompileRequest request;
  std::filesystem::path scratch = {};     ///< stores the artifact if the cache cannot; empty: then the job fails
  bool keep_in_scratch = false;           ///< store the artifact in the scratch directory in any case
  std::optional<double> expected_s = {};  ///< CPU time: of the jobs that wait for a worker, the longest is first
};
/// The cache in a scratch directory.
std::filesystem::path scratch_cache(const std::filesystem::path& scratch);

struct CompileAnswer {
  Outcome outcome = Outcome::ok;
  build::Lack lack = build::Lack::none;  ///< resource that the machine lacked: the outcome is valid only for this run,
                                         ///< and is not stored
  std::string message, log;
  std::string warning;       ///< why the cache could not store the artifact, which is then in the scratch directory
  build::Artifact artifact;  ///< without its image
  bool cached = false;
  double cpu_s = 0;              ///< of the worker and its children, for this job
  std::uint64_t peak_bytes = 0;  ///< maximum memory of the worker and its largest child so far; 0: unknown
};

/// One argument that a step of a launch may take, in the spec's order: a buffer's layout, or a scalar, a scratch buffer
/// or a tensor map, whose value, layout or description comes with each job.
struct ArgumentPlan {
  std::optional<validate::ArgumentLayout> buffer{};  ///< unset: another argument
  bool scratch = false;
  std::optional<std::size_t> map_of{};  ///< a tensor map: the number of the buffer among the arguments
};

/// How the worker gets the expected outputs.
struct ReferencePlan {
  spec::ReferenceSpec::Kind kind = spec::ReferenceSpec::Kind::none;
  std::string at;                                           ///< place in the spec: "gemm.toml:40:13"
  std::string name;                                         ///< builtin
  std::string output;                                       ///< builtin, file: the argument it describes
  std::vector<std::pair<std::string, std::string>> arrays;  ///< builtin: role, argument name
  Bindings scalars;                                         ///< builtin
  std::filesystem::path file;                               ///< file: .npy
  std::vector<std::string> command;                         ///< command: argv
  std::filesystem::path folder;                             ///< command: its working directory
  build::Artifact artifact;                                 ///< kernel; without its image
  device::LaunchPlan launch;                                ///< kernel
  std::vector<measure::ScalarArgument> scalar_arguments;    ///< of the launch that it describes
  /// Kernel: which of the job's constants its artifact's variables are.
  std::vector<std::size_t> constants{};
  std::vector<validate::ArgumentLayout> scratch{};  ///< kernel: its scratch buffers
  std::vector<measure::TensorMap> maps{};           ///< kernel
};

/// Driver to bench worker, once per problem and per worker process: prepare inputs and buffers.
struct OpenJob {
  std::string backend;
  int device = 0;
  std::filesystem::path cache;    ///< where images are
  std::filesystem::path scratch;  ///< temporary directory of the run: keeps the reference for later workers
  std::uint64_t seed = 1;
  bool sanitize = false;  ///< buffers end with the argument, because a guard zone would hide invalid accesses
  std::vector<ArgumentPlan> arguments;
  std::vector<validate::ArgumentLayout> constants{};  ///< what the variables of each artifact hold, in their order
  std::vector<measure::ArgumentType> types;  ///< of `arguments`, for the kernel's signature; empty: not compared
  ReferencePlan reference;
  /// Where each validating launch writes its outputs (output_path); empty: not written.
  std::filesystem::path outputs;
  std::optional<build::Artifact> check_kernel;  ///< without its image; unset: everything is checked on the host
  std::vector<std::pair<std::string, validate::ToleranceRule>> tolerances;  ///< per output argument
  std::vector<std::string> check{};  ///< argv of a command that judges the outputs; empty: none
  std::string check_at{};            ///< its place in the spec
  std::filesystem::path folder{};    ///< the spec's, in which it is started
  int repeats = 0;          ///< more validating launches, whose output bits are compared; 0: no bits are compared
  bool must_repeat = true;  ///< other bits are a wrong result; else they are only reported
  spec::MeasureSpec measure;
  bool time_reference = false;  ///< measure the time of a reference kernel when it is first launched
};

/// Driver to bench worker, after OpenJob if there is a reference: compute it, or read the result of an earlier worker.
/// A separate request, so that a reference kernel that hangs or crashes can be distinguished from other failures.
nlohmann::json reference_request();
/// In the answer to it: texts for the user about the reference.
inline constexpr const char* warnings_member = "warnings";
/// In the answer to it: the samples of the reference kernel, in ms; empty: it was not timed.
inline constexpr const char* reference_times_member = "reference_ms";

/// Driver to bench worker: load, validate and measure one configuration.
struct BenchJob {
  build::Artifact artifact;  ///< without its image
  device::LaunchPlan launch;
  std::vector<measure::ScalarArgument> scalars;      ///< in kernel order
  std::optional<measure::Incumbent> incumbent = {};  ///< set: race it; a loser is pruned
  Bindings config = {};                              ///< for services that report it
  std::vector<validate::ArgumentLayout> scratch{};   ///< in kernel order
  std::optional<std::uint64_t> inputs_seed{};        ///< set: new inputs are drawn by it first
  std::vector<measure::TensorMap> maps{};            ///< in kernel order
  bool validate_only = false;                        ///< launch it once and compare; no samples are taken
};
/// Other values that a program reports: the metric, and its value for each of the samples.
using Reported = std::vector<std::pair<std::string, std::vector<double>>>;

struct BenchAnswer {
  Outcome outcome = Outcome::ok;
  build::Lack lack = build::Lack::none;  ///< as of CompileAnswer
  std::string stage;                     ///< "load", "run", "validate", "measure"
  std::string message, log;
  std::vector<double> samples_ms;
  std::optional<validate::Comparison> validation;
  std::optional<validate::Repeatability> repeatable{};  ///< set if bits were compared
  Reported reported;
  measure::Telemetry telemetry;
  std::vector<std::string> taints;  ///< reasons why the samples are suspect
  std::string changed{};            ///< what the kernel did to its process: "left 4 descriptors open"; a taint, too
  double busy_s = 0;                ///< wall clock of the worker
  bool no_device = false;           ///< the device could not be opened, see message; set by the service
  std::string missing_artifact;  ///< key of an artifact that the store lost: nothing was measured; set by the service
};
/// An answer of a bench worker has this member, true, if the worker must be replaced: kernels have left too much memory
/// allocated in it or threads running, or have changed it (worker/process_state.hpp).
inline constexpr const char* worn_member = "worn";
/// An answer has this member, true, if a kernel failed that others may have harmed, since they ran in the same process
/// before.
inline constexpr const char* doubtful_member = "doubtful";

/// Driver to bench worker: launch configurations that have passed before again, in turns, so that changes over time
/// affect all of them alike. After the rounds each is launched once more and its outputs are compared.
struct RoundsJob {
  std::vector<BenchJob> jobs;                    ///< incumbents are ignored
  std::vector<std::vector<std::size_t>> rounds;  ///< for each round, the order of the jobs that are launched once
  bool time_reference = false;                   ///< measure the time of the reference kernel again, before the rounds
};
struct RoundsAnswer {
  Outcome outcome = Outcome::ok;
  build::Lack lack = build::Lack::none;  ///< as of CompileAnswer
  std::string message, log;
  std::optional<std::size_t> failed;            ///< the job that ended the rounds; unset: none did, or it is unknown
  std::vector<std::vector<double>> samples_ms;  ///< by job, in the order of the rounds, only of complete rounds
  std::vector<double> reference_ms;             ///< of the reference kernel, if it was asked for and could be timed
  std::vector<Reported> reported;               ///< by job, from the same runs as samples_ms
  std::vector<std::string> taints;
  double busy_s = 0;             ///< wall clock of the worker
  std::string missing_artifact;  ///< as in BenchAnswer
};

nlohmann::json to_json(const CompileJob& job);
nlohmann::json to_json(const CompileAnswer& answer);
nlohmann::json to_json(const OpenJob& job);
nlohmann::json to_json(const BenchJob& job);
nlohmann::json to_json(const BenchAnswer& answer);
nlohmann::json to_json(const RoundsJob& job);
nlohmann::json to_json(const RoundsAnswer& answer);
/// Each throws nlohmann's exception for a message of another structure.
CompileJob compile_job_from_json(const nlohmann::json& json);
CompileAnswer compile_answer_from_json(const nlohmann::json& json);
OpenJob open_job_from_json(const nlohmann::json& json);
BenchJob bench_job_from_json(const nlohmann::json& json);
BenchAnswer bench_answer_from_json(const nlohmann::json& json);
RoundsJob rounds_job_from_json(const nlohmann::json& json);
RoundsAnswer rounds_answer_from_json(const nlohmann::json& json);

/// A compiled artifact is neither in the cache nor in the scratch directory, or it is damaged. The job that needs it is
/// not at fault. Its kind is io.
class MissingArtifact : public Error {
 public:
  MissingArtifact(std::string key, const std::filesystem::path& cache);
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};
/// The key, if a worker's answer reports a missing artifact; else empty.
std::string missing_artifact_in(const nlohmann::json& answer);

/// An Error is sent as {"error": kind, "message": text}; throw_if_error throws it in the receiver.
nlohmann::json error_to_json(ErrorKind kind, const std::string& message);
nlohmann::json error_to_json(const MissingArtifact& error);
void throw_if_error(const nlohmann::json& answer);

/// The expected contents of a buffer argument, by its number among the buffers, raw bytes. Arguments without a file are
/// not compared.
inline std::filesystem::path expected_path(const std::filesystem::path& scratch, std::size_t buffer) {
  return scratch / ("expected-" + std::to_string(buffer));
}
/// Exists once all the others do.
inline std::filesystem::path expected_complete_path(const std::filesystem::path& scratch) {
  return scratch / "expected-complete";
}
/// An output of a validating launch: "first" and "last" for a single configuration, "round-N" for job N of rounds.
inline std::filesystem::path output_path(const std::filesystem::path& folder, const std::string& launch,
                                         std::size_t buffer) {
  return folder / (launch + "-" + std::to_string(buffer));
}
inline std::string launch_of_round(std::size_t job) { return "round-" + std::to_string(job); }

}  // namespace xtune::ipc
