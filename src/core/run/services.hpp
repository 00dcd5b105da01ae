// What the tuner asks of compilers and devices: jobs, their answers, and the services that it calls; and of the other
// processes that share a search. They are implemented by workers and studies, and by fakes in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/shortage.hpp"
#include "core/measure/device.hpp"
#include "core/measure/race.hpp"
#include "core/measure/statistics.hpp"
#include "core/spec/spec.hpp"
#include "core/validate/compare.hpp"
#include "core/validate/inputs.hpp"
#include "xtune/outcome.hpp"

namespace xtune::store {
struct Record;
}  // namespace xtune::store

namespace xtune::run {

/// Compile, put into the cache, answer without the image.
struct CompileJob {
  std::string backend;
  std::filesystem::path cache;  ///< directory of the ArtifactCache
  std::string key;
  build::CompileRequest request;
  std::filesystem::path scratch = {};     ///< stores the artifact if the cache cannot; empty: then the job fails
  bool keep_in_scratch = false;           ///< store the artifact in the scratch directory in any case
  std::optional<double> expected_s = {};  ///< CPU time: of the jobs that wait for a worker, the longest is first
};

/// How a job of a worker ended.
struct Ending {
  Outcome outcome = Outcome::ok;
  /// Resource that the machine lacked: the outcome is valid only for this run, and is not stored.
  build::Lack lack = build::Lack::none;
  std::string message, log;
};

struct CompileAnswer : Ending {
  std::string warning;       ///< why the cache could not store the artifact, which is then in the scratch directory
  build::Artifact artifact;  ///< without its image; of a failure only the key and the manifest
  std::string image_sha256{};
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

/// What is launched, and its arguments that are not buffers of the problem, in kernel order.
struct KernelCall {
  build::Artifact artifact;  ///< without its image
  device::LaunchPlan launch;
  std::vector<measure::ScalarArgument> scalars;
  std::vector<validate::ArgumentLayout> scratch{};
  std::vector<measure::TensorMap> maps{};
  /// Which of the problem's constants its artifact's variables are; unset: all of them.
  std::optional<std::vector<std::size_t>> constants{};
};

/// How the worker gets the expected outputs. The call is that of a kernel; of others only its scalars are set.
struct ReferencePlan : KernelCall {
  spec::ReferenceSpec::Kind kind = spec::ReferenceSpec::Kind::none;
  std::string at;                                           ///< place in the spec: "gemm.toml:40:13"
  std::string name;                                         ///< builtin
  std::string output;                                       ///< builtin, file: the argument it describes
  std::vector<std::pair<std::string, std::string>> arrays;  ///< builtin: role, argument name
  Bindings values;                                          ///< builtin: its scalars
  std::filesystem::path file;                               ///< file: .npy
  std::vector<std::string> command;                         ///< command: argv
  std::filesystem::path folder;                             ///< command: its working directory
};

/// Once per problem and per worker process: prepare inputs and buffers.
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

/// Load, validate and measure one configuration.
struct BenchJob : KernelCall {
  std::optional<measure::Incumbent> incumbent = {};  ///< set: race it; a loser is pruned
  Bindings config = {};                              ///< for services that report it
  std::optional<std::uint64_t> inputs_seed{};        ///< set: new inputs are drawn by it first
  bool validate_only = false;                        ///< launch it a few times and compare; no samples are taken
};
/// Other values that a program reports: the metric, and its value for each of the samples.
using Reported = std::vector<std::pair<std::string, std::vector<double>>>;

/// What the answers about one configuration and about rounds of several have in common.
struct BenchEnding : Ending {
  std::vector<std::string> taints;  ///< reasons why the samples are suspect
  double busy_s = 0;                ///< wall clock of the worker
  std::string missing_artifact;  ///< key of an artifact that the store lost: nothing was measured; set by the service
};

struct BenchAnswer : BenchEnding {
  std::string stage;  ///< "load", "run", "validate", "measure"
  std::vector<double> samples_ms;
  std::optional<validate::Comparison> validation;
  std::optional<validate::Repeatability> repeatable{};  ///< set if bits were compared
  Reported reported;
  measure::Telemetry telemetry;
  std::string changed{};   ///< what the kernel did to its process: "left 4 descriptors open"; a taint, too
  bool no_device = false;  ///< the device could not be opened, see message; set by the service
};
/// Launch configurations that have passed before again, in turns, so that changes over time
/// affect all of them alike. After the rounds each is launched once more and its outputs are compared.
struct RoundsJob {
  std::vector<BenchJob> jobs;                    ///< incumbents are ignored
  std::vector<std::vector<std::size_t>> rounds;  ///< for each round, the order of the jobs that are launched once
  bool time_reference = false;                   ///< measure the time of the reference kernel again, before the rounds
};
struct RoundsAnswer : BenchEnding {
  std::optional<std::size_t> failed;            ///< the job that ended the rounds; unset: none did, or it is unknown
  std::vector<std::vector<double>> samples_ms;  ///< by job, in the order of the rounds, only of complete rounds
  std::vector<double> reference_ms;             ///< of the reference kernel, if it was asked for and could be timed
  std::vector<Reported> reported;               ///< by job, from the same runs as samples_ms
};

/// How often the benchmark of one configuration calls the spec's check: after the first launch and after the last one.
/// Each call may take [measure] timeout_s.
inline constexpr int check_calls = 2;
/// How many times [measure] timeout_s a reference may take. One launch of a reference kernel is compared with a
/// configuration's validation and all its samples, which allows slow kernels. A builtin computes on the CPU, in double
/// precision, which takes much longer than the device.
constexpr double reference_timeout_factor(spec::ReferenceSpec::Kind kind) noexcept {
  return kind == spec::ReferenceSpec::Kind::kernel ? 10 : 20;
}

/// Compiles asynchronously, several jobs at once. A compiler that crashes, hangs or refuses gives an answer with an
/// outcome; an Error of xtune itself (no compiler here, unknown architecture) leaves the event loop.
class CompileService {
 public:
  using Callback = std::function<void(CompileAnswer)>;
  virtual ~CompileService() = default;
  virtual void compile(const CompileJob& job, double timeout_s, Callback callback) = 0;
  virtual std::size_t parallel() const noexcept = 0;  ///< maximum number of jobs at once
  virtual void cancel_all() = 0;                      ///< no callback of an earlier job is called after this
};

/// The problem of a bench service: the message that opens it in a worker, and what stays with the service.
struct Problem : OpenJob {
  std::function<void(const std::string&)> warn;  ///< receives messages for the user; may be empty
  /// Receives the samples of the reference kernel, in ms; may be empty.
  std::function<void(const std::vector<double>& samples_ms)> reference_timed;
  // The jobs that make artifacts; unset: there is none.
  std::optional<CompileJob> reference_job, check_kernel_job;
  std::function<CompileJob(const Bindings& config)> compile_job;  ///< of a BenchJob with this configuration
};

/// Tries one configuration at a time on one device.
class BenchService {
 public:
  using Callback = std::function<void(BenchAnswer)>;
  using RoundsCallback = std::function<void(RoundsAnswer)>;
  virtual ~BenchService() = default;
  /// Sets the problem of all later jobs; it is sent to the worker with the first job, and again to each new worker. If
  /// a reference hangs or crashes, Error(invalid_spec) at its place leaves the event loop.
  virtual void set_problem(Problem problem) = 0;
  /// Prepares for the problem before the first job, which several devices may do at once: opens the device, makes
  /// inputs and buffers, and leaves the reference to the job. The job tries again and reports errors. A service may do
  /// nothing here.
  virtual void prepare() {}
  /// Measures a configuration. If it crashes the worker, the answer has an outcome; the next job gets a new worker. If
  /// it fails where kernels that ran before may be the cause, since they ran in the same process, it is tried once more
  /// in a new one; likewise if the worker was killed from outside, which is not attributed to the configuration the
  /// second time either.
  virtual void bench(const BenchJob& job, double timeout_s, Callback callback) = 0;
  /// All of them in one worker. If they crash it, the answer does not show which one did.
  virtual void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) = 0;
  virtual void cancel_all() = 0;
};

/// Processes with the same kernel, problem and architecture. All of them take the same path through the space: results
/// that one measures are read by the others, and observed at their place.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Whether this process must do the work, by a claim now or before; false: another process does it, as long as it
  /// lives. Throws Error(io).
  virtual bool take(const std::string& name) = 0;
  /// Gives up all claims of this process: it claims nothing more, and its records can still be found.
  virtual void leave() noexcept = 0;
  /// This process has stored one more record: other processes must read it before they take over its work.
  virtual void stored_one() noexcept = 0;
  /// The records that other processes have stored since the last call, in no particular order. Throws Error(io).
  virtual std::vector<store::Record> news() = 0;
  /// Number of started processes, including this one; some may have other architectures, or have ended.
  virtual std::size_t size() const noexcept = 0;
  /// Number of this process: 0 .. size-1.
  virtual std::size_t place() const noexcept = 0;
  /// When the first process began: records that were stored later are news, and do not guide the search.
  virtual std::int64_t began_unix_ms() const noexcept = 0;
  /// Useful interval for calls of news().
  virtual std::uint64_t look_every_ms() const noexcept = 0;
};

/// Maximum number of proposals without an outcome over all processes, for a search that learns: enough for each process
/// to have work, but no more of the evaluations than are worth making without the outcomes of the others.
std::size_t proposals_in_flight(std::size_t processes, std::uint64_t evals);

}  // namespace xtune::run
