// What the driver and its worker processes say to each other: plain structures and their JSON form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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
#include "core/measure/telemetry.hpp"
#include "core/spec/spec.hpp"
#include "core/validate/compare.hpp"
#include "core/validate/inputs.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::ipc {

/// Driver to compile worker: compile, put into the cache, answer without the image.
struct CompileJob {
  std::string backend;
  std::filesystem::path cache;  ///< the ArtifactCache's folder
  std::string key;
  build::CompileRequest request;
  std::filesystem::path scratch = {};  ///< holds the artifact where the cache cannot; empty: then the job fails
  bool keep_in_scratch = false;        ///< the artifact lies in the scratch folder afterwards, whatever the cache does
  std::optional<double> expected_s = {};  ///< CPU time, for the order of the jobs that wait; the worker is not told
};
/// The cache within a scratch folder.
std::filesystem::path scratch_cache(const std::filesystem::path& scratch);

struct CompileAnswer {
  Outcome outcome = Outcome::ok;
  build::Lack lack =
      build::Lack::none;  ///< what the machine lacked: then the outcome is this run's only, and is not stored
  std::string message, log;
  std::string warning;       ///< why the cache could not hold the artifact, which is in the scratch folder then
  build::Artifact artifact;  ///< without its image
  bool cached = false;
  double cpu_s = 0;              ///< of the worker and its children, for this job
  std::uint64_t peak_bytes = 0;  ///< memory that the worker and its largest child have held so far; 0: not told
};

/// One argument of the tuned kernel, in kernel order: a buffer's layout, or a scalar or a scratch buffer, whose value
/// or layout comes with each job.
struct ArgumentPlan {
  std::optional<validate::ArgumentLayout> buffer;  ///< unset: a scalar or scratch
  bool scratch = false;
};

/// How the worker gets the expected outputs.
struct ReferencePlan {
  spec::ReferenceSpec::Kind kind = spec::ReferenceSpec::Kind::none;
  std::string at;                                           ///< "gemm.toml:40:13": its place in the spec
  std::string name;                                         ///< builtin
  std::string output;                                       ///< builtin, file: the argument it describes
  std::vector<std::pair<std::string, std::string>> arrays;  ///< builtin: role, argument name
  Bindings scalars;                                         ///< builtin
  std::filesystem::path file;                               ///< file: .npy
  std::vector<std::string> command;                         ///< command: argv
  std::filesystem::path folder;                             ///< command: its working directory
  build::Artifact artifact;                                 ///< kernel; without its image
  std::shared_ptr<const CompileJob> compile_job;            ///< kernel: how that is made; not sent to a worker
  device::Launch launch;                                    ///< kernel
  std::vector<measure::ScalarArgument> scalar_arguments;    ///< kernel
  /// Kernel: which of the job's constants its artifact's variables are.
  std::vector<std::size_t> constants{};
  std::vector<validate::ArgumentLayout> scratch{};  ///< kernel: its scratch buffers
};

/// Driver to bench worker, once per problem and per worker process: prepare inputs and buffers.
struct OpenJob {
  std::string backend;
  int device = 0;
  std::filesystem::path cache;    ///< where images are
  std::filesystem::path scratch;  ///< the run's temporary folder: the reference is kept there across worker deaths
  std::uint64_t seed = 1;
  bool sanitize = false;  ///< buffers end where the argument ends: a guard zone would hide a bad access
  std::vector<ArgumentPlan> arguments;
  std::vector<validate::ArgumentLayout> constants{};  ///< what the variables of each artifact hold, in their order
  std::vector<measure::ArgumentType> types;  ///< of `arguments`, for the kernel's signature; empty: not compared
  ReferencePlan reference;
  /// Where each validating launch leaves its outputs (expected_files.hpp); empty: nowhere.
  std::filesystem::path outputs;
  std::optional<build::Artifact> check_kernel;         ///< without its image; unset: everything is checked on the host
  std::shared_ptr<const CompileJob> check_kernel_job;  ///< how that is made; not sent to a worker
  std::vector<std::pair<std::string, validate::ToleranceRule>> tolerances;  ///< per output argument
  std::vector<std::string> check{};  ///< argv of a command that judges the outputs; empty: none
  std::string check_at{};            ///< its place in the spec
  std::filesystem::path folder{};    ///< the spec's, in which it is started
  int repeats = 0;                   ///< more validating launches, whose output bits must be the same
  spec::MeasureSpec measure;
  std::function<void(const std::string&)> warn = {};  ///< told what the user should know; not sent to a worker
};

/// Driver to bench worker, after OpenJob where there is a reference: compute it, or read what an earlier worker left. A
/// request of its own, so that a reference kernel that hangs or crashes can be told from all else.
nlohmann::json reference_request();
/// In the answer to it: texts for the user about the reference.
inline constexpr const char* warnings_member = "warnings";

/// Driver to bench worker: load, validate and measure one configuration.
struct BenchJob {
  build::Artifact artifact;  ///< without its image
  device::Launch launch;
  std::vector<measure::ScalarArgument> scalars;      ///< in kernel order
  std::optional<measure::Incumbent> incumbent = {};  ///< set: race it; a loser is pruned
  Bindings config = {};                              ///< for services that tell somebody; not sent to a worker
  std::function<CompileJob()> compile_job = {};      ///< how the artifact is made; not sent to a worker
  std::vector<validate::ArgumentLayout> scratch{};   ///< in kernel order
  std::optional<std::uint64_t> inputs_seed{};        ///< set: new inputs are drawn by it first
};
/// What a program reports beside its time: the metric, and its value at each of the samples.
using Reported = std::vector<std::pair<std::string, std::vector<double>>>;

struct BenchAnswer {
  Outcome outcome = Outcome::ok;
  build::Lack lack = build::Lack::none;  ///< as of CompileAnswer
  std::string stage;                     ///< "load", "run", "validate", "measure"
  std::string message, log;
  std::vector<double> samples_ms;
  std::optional<validate::Comparison> validation;
  Reported reported;
  measure::Telemetry telemetry;
  std::vector<std::string> taints;  ///< why the samples are suspect, a reason each
  double busy_s = 0;                ///< wall clock of the worker
  bool no_device = false;           ///< the device did not open, message says why; by the service, not by a worker
  std::string missing_artifact;     ///< its key: the store lost it, nothing was measured; by the service
};
/// An answer of a bench worker has this member, true, where kernels have left so much memory behind in it, or have
/// rescheduled its threads (base/thread_state.hpp), so that it must be replaced.
inline constexpr const char* worn_member = "worn";

/// Driver to bench worker: launch configurations that have passed before again, in turns, so that whatever changes with
/// time touches all of them alike. After the rounds each is launched once more and its outputs are compared.
struct RoundsJob {
  std::vector<BenchJob> jobs;                    ///< incumbents are not looked at
  std::vector<std::vector<std::size_t>> rounds;  ///< each the order in which some or all of the jobs are launched once
};
struct RoundsAnswer {
  Outcome outcome = Outcome::ok;
  build::Lack lack = build::Lack::none;  ///< as of CompileAnswer
  std::string message, log;
  std::optional<std::size_t> failed;            ///< the job that ended it; unset: none did, or nobody knows which
  std::vector<std::vector<double>> samples_ms;  ///< by job, in the order of the rounds, of whole rounds only
  std::vector<Reported> reported;               ///< by job, of the same runs as samples_ms
  std::vector<std::string> taints;
  double busy_s = 0;             ///< wall clock of the worker
  std::string missing_artifact;  ///< as of BenchAnswer
};

nlohmann::json to_json(const CompileJob& job);
nlohmann::json to_json(const CompileAnswer& answer);
nlohmann::json to_json(const OpenJob& job);
nlohmann::json to_json(const BenchJob& job);
nlohmann::json to_json(const BenchAnswer& answer);
nlohmann::json to_json(const RoundsJob& job);
nlohmann::json to_json(const RoundsAnswer& answer);
/// Each throws nlohmann's exception on a message of another shape.
CompileJob compile_job_from_json(const nlohmann::json& json);
CompileAnswer compile_answer_from_json(const nlohmann::json& json);
OpenJob open_job_from_json(const nlohmann::json& json);
BenchJob bench_job_from_json(const nlohmann::json& json);
BenchAnswer bench_answer_from_json(const nlohmann::json& json);
RoundsJob rounds_job_from_json(const nlohmann::json& json);
RoundsAnswer rounds_answer_from_json(const nlohmann::json& json);

/// An artifact that was compiled is neither in the cache nor in the scratch folder, or it is damaged: no fault of the
/// job that needs it. Its kind is io.
class MissingArtifact : public Error {
 public:
  MissingArtifact(std::string key, const std::filesystem::path& cache);
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};
/// Of a worker's answer: the key where it is that; empty: it is something else.
std::string missing_artifact_in(const nlohmann::json& answer);

/// An Error travels as {"error": kind, "message": text}; throw_if_error throws it again on the other side.
nlohmann::json error_to_json(ErrorKind kind, const std::string& message);
nlohmann::json error_to_json(const MissingArtifact& error);
void throw_if_error(const nlohmann::json& answer);

}  // namespace xtune::ipc
