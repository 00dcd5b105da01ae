// Tuning from code: find the best configuration of a Tunable on a device of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "xtune/remote.hpp"
#include "xtune/result.hpp"
#include "xtune/tunable.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// Where configurations run.
enum class Isolation {
  process,     ///< in worker processes: a crash or hang costs only that configuration
  in_process,  ///< in the caller's process, thread and device context: a crash ends the application
};

/// The progress of a run.
struct TuneProgress {
  std::uint64_t done = 0;              ///< configurations that have ended
  std::uint64_t total = 0;             ///< maximum number of configurations that will be tried
  std::uint64_t from_store = 0;        ///< configurations in `done` whose result came from the store
  std::size_t compiling = 0;           ///< configurations that are being compiled
  std::size_t waiting = 0;             ///< configurations that are compiled and wait for the device
  double elapsed_s = 0;                ///< seconds since the run began
  std::optional<double> best_ms = {};  ///< minimum time so far, milliseconds
};

/// How to tune; the defaults are those of `xtune run`. Callbacks run on the thread that called tune(). An exception
/// from one of them ends the run and leaves tune(); everything measured before is kept in the store.
struct TuneSettings {
  std::string backend = "auto";  ///< cuda, hip, host; auto: the first of these that can be used, gpu: of cuda, hip
  /// Of a backend with several compilers, which one: hiprtc or clang for hip, or auto: hiprtc, unless it is missing or
  /// does not know the architecture.
  std::string compiler = "auto";
  std::vector<int> devices = {};     ///< indices; empty: the first and all devices like it (in_process: only one)
  Bindings problem = {};             ///< problem sizes by name, instead of the defaults
  std::filesystem::path store = {};  ///< empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  bool keep = true;                  ///< false: neither read nor write a store
  std::size_t jobs = 0;              ///< maximum number of compilers at a time; 0: XTUNE_JOBS, else 0.9 of the cores
  std::optional<std::uint64_t> evals = {};   ///< maximum number of configurations, instead of the spec's
  std::optional<double> seconds = {};        ///< maximum wall-clock seconds, instead of the spec's
  std::optional<std::uint64_t> seed = {};    ///< for search and inputs, instead of the spec's
  std::string strategy = {};                 ///< instead of the spec's
  std::string effort = {};                   ///< none, quick or full (docs/search.md), instead of the spec's
  bool fresh = false;                        ///< measure configurations again that the store has results for
  bool retry_failed = false;                 ///< try configurations again that crashed or timed out in an earlier run
  bool transfer = true;                      ///< use results of other devices and problems to guide the search
  Isolation isolation = Isolation::process;  ///< where configurations run
  std::vector<Bindings> configs = {};        ///< not empty: measure exactly these, each in full
  bool compare = false;                      ///< with configs: those that pass meet in finals, whatever their number
  /// The same as a function of the problem. If it returns an empty list, the search runs as usual.
  std::function<std::vector<Bindings>(const Bindings& problem)> configs_of = {};
  std::function<void(const TuneProgress&)> on_progress = {};  ///< called when a configuration has ended
  /// Called when a configuration has ended; log is its compiler's output.
  std::function<void(const Measurement&, const std::string& log)> on_measurement = {};
  /// Receives notes and warnings for people. Each warning is sent once; Result::warnings counts it.
  std::function<void(const std::string& line)> on_log = {};
  /// Called about 20 times a second, also while another thread's run is waited for: for an application that must look
  /// at signals on this thread. While configurations run in_process, it is called between them.
  std::function<void()> poll = {};
  /// Set: devices of other machines measure, and the search runs here. backend, compiler, devices and isolation are
  /// theirs. Any number of threads may have such runs at the same time.
  std::shared_ptr<RemoteDevices> remote = {};
  std::stop_token stop = {};                              ///< ends the run soon; its measurements are returned and kept
  std::uint64_t max_copy_bytes = std::uint64_t{4} << 30;  ///< limit for memory behind device pointers, which is copied
                                                          ///< for the worker; bytes
};

/// Tunes one problem: the Tunable's only case, or its default problem with settings.problem applied. A process runs one
/// tune() at a time, because two would disturb each other's measurements: other threads wait, and a call from a
/// callback of a run throws Error(invalid_argument). A configuration that fails is part of the result. Throws Error:
/// invalid_spec and invalid_argument for mistakes in the arguments, unavailable if there is no device, compiler or
/// xtune program, nothing_valid for an empty space.
Result tune(const Tunable& tunable, const TuneSettings& settings = {});

/// Tunes every case of the Tunable, in order; returns fewer if the stop token ends the run. Each case has its own
/// winner. With [objective] across (Tunable::across), each case's best configurations are measured in the other cases
/// too, and Result::across names the one configuration for all cases.
std::vector<Result> tune_cases(const Tunable& tunable, const TuneSettings& settings = {});

/// How to compile without measuring.
struct CompileSettings {
  std::string backend = "auto";      ///< cuda, hip, host; auto, gpu: the backend of the device or of `arch`
  std::string compiler = "auto";     ///< as in TuneSettings
  std::string arch = {};             ///< "sm_90a", "gfx90a"; empty: the device's, else the compiler's default
  Bindings problem = {};             ///< as in TuneSettings
  std::filesystem::path store = {};  ///< as in TuneSettings
  std::size_t jobs = 0;              ///< as in TuneSettings
  std::function<void()> poll = {};   ///< as in TuneSettings; an exception leaves the function
  std::stop_token stop = {};         ///< ends the compilation soon; configurations that are not compiled by then are
                                     ///< missing from the result
};

namespace detail {
struct CompiledBuild;
}  // namespace detail

/// One compiled configuration. Its binary is in the store under the key.
struct CompiledConfig {
  Bindings config;                ///< as given to compile_all
  Outcome outcome = Outcome::ok;  ///< ok, rejected, compile_failed, timed_out or crashed
  std::string message;            ///< the reason, if it was not compiled
  std::string log;                ///< the compiler's output
  std::string key;                ///< key of the binary in the store
  Resources resources;            ///< registers, shared memory
  double seconds = 0;             ///< wall-clock seconds; 0: it was compiled before

  /// The configuration as a callable (include xtune/kernel.hpp) for the problem that it was compiled for, in the
  /// application's own context and on its own stream. A call whose scalars give other sizes throws
  /// Error(invalid_argument). checked: as LoadSettings::checked. Throws Error: nothing_valid if it was not compiled,
  /// unavailable if the store no longer has the binary or the backend has no driver here, unsupported for kernels that
  /// cannot be called (see load()). If the device cannot load the binary, the first call throws Error(unavailable).
  Kernel kernel(bool checked = true) const;
  /// The same as a typed kernel: kernel<void(const float* x, float* y, int n)>(). Also throws Error(invalid_argument)
  /// if the type does not fit.
  template <class Type>
  TypedKernel<Type> kernel(bool checked = true) const;

 private:
  friend struct Access;
  std::shared_ptr<const detail::CompiledBuild> build_;
};

/// Compiles these configurations, in their order, for manual sweeps. No device is needed. A configuration that the
/// space does not allow gets the outcome `rejected`. Throws the errors of tune().
std::vector<CompiledConfig> compile_all(const Tunable& tunable, const std::vector<Bindings>& configs,
                                        const CompileSettings& settings = {});

/// The valid configurations of a Tunable for a problem and device, in the order of the space. Throws
/// Error(invalid_argument) if there are more than `most`, and Error(interrupted) if the stop token ends it.
std::vector<Bindings> all_configs(const Tunable& tunable, const CompileSettings& settings = {},
                                  std::uint64_t most = 1'000'000);

}  // namespace xtune
