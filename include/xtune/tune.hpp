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

#include "xtune/result.hpp"
#include "xtune/tunable.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// Where configurations run.
enum class Isolation {
  process,     ///< in a process of their own: what crashes or hangs there costs one configuration
  in_process,  ///< in the caller's process, thread and device context: what crashes there ends the application
};

/// Where a run stands.
struct TuneProgress {
  std::uint64_t done = 0;              ///< configurations that have ended
  std::uint64_t total = 0;             ///< configurations that will be tried, at most
  std::uint64_t from_store = 0;        ///< of done: answered by the store
  std::size_t compiling = 0;           ///< configurations that compile now
  std::size_t waiting = 0;             ///< compiled, waiting for the device
  double elapsed_s = 0;                ///< since the run began, seconds
  std::optional<double> best_ms = {};  ///< minimum time so far, milliseconds
};

/// How to tune; the defaults are those of `xtune run`. Callbacks are called on the thread that called tune(); what they
/// throw ends the run and comes out of it, with everything measured so far kept in the store.
struct TuneSettings {
  std::string backend = "auto";      ///< cuda, hip, host, or auto: the first of these with a device and a compiler
  std::vector<int> devices = {};     ///< indices; empty: the first and all that are like it (in_process: one device)
  Bindings problem = {};             ///< names of the problem and their values, instead of the defaults
  std::filesystem::path store = {};  ///< empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  bool keep = true;                  ///< false: nothing is read from or left in a store
  std::size_t jobs = 0;              ///< compilers at once; 0: XTUNE_JOBS, else 0.9 of the cores
  std::optional<std::uint64_t> evals = {};   ///< configurations at most, instead of the spec's
  std::optional<double> seconds = {};        ///< wall clock at most, instead of the spec's
  std::optional<std::uint64_t> seed = {};    ///< of search and inputs, instead of the spec's
  std::string strategy = {};                 ///< instead of the spec's
  bool fresh = false;                        ///< measure again what the store already answers
  bool retry_failed = false;                 ///< try again what crashed or timed out in an earlier run
  bool transfer = true;                      ///< results of other devices and problems guide the search
  Isolation isolation = Isolation::process;  ///< where configurations run
  std::vector<Bindings> configs = {};        ///< not empty: these and no others, each measured in full
  /// The same as a function of the problem; an empty list is a search as usual.
  std::function<std::vector<Bindings>(const Bindings& problem)> configs_of = {};
  std::function<void(const TuneProgress&)> on_progress = {};  ///< whenever something ended
  /// A configuration has ended; log is its compiler's output.
  std::function<void(const Measurement&, const std::string& log)> on_measurement = {};
  /// Notes and warnings, for people; a warning once for each cause, whose count is in Result::warnings.
  std::function<void(const std::string& line)> on_log = {};
  std::stop_token stop = {};                              ///< ends the run soon; what was measured is returned and kept
  std::uint64_t max_copy_bytes = std::uint64_t{4} << 30;  ///< behind device pointers, to be copied for the worker
};

/// Tunes one problem: the Tunable's only one, or what settings.problem makes of its defaults. A run at a time in a
/// process: others wait, as they would spoil each other's times; from a callback of a run it is
/// Error(invalid_argument). A configuration that fails is part of the result. Throws Error: invalid_spec and
/// invalid_argument for what the caller got wrong, unavailable where there is no device, compiler or xtune program,
/// nothing_valid for an empty space.
Result tune(const Tunable& tunable, const TuneSettings& settings = {});

/// Every case of the Tunable, in order; fewer where the stop token ends it. Each has its own best; with [objective]
/// across (Tunable::across) the best of each are measured in the others too, and Result::across names the one that
/// serves all.
std::vector<Result> tune_cases(const Tunable& tunable, const TuneSettings& settings = {});

/// How to compile without measuring.
struct CompileSettings {
  std::string backend = "auto";      ///< cuda, hip, host, or auto: as the device or arch suggests
  std::string arch = {};             ///< "sm_90a", "gfx90a"; empty: the device's, else the compiler's default
  Bindings problem = {};             ///< as in TuneSettings
  std::filesystem::path store = {};  ///< as in TuneSettings
  std::size_t jobs = 0;              ///< as in TuneSettings
  std::stop_token stop = {};         ///< ends it soon: what was not compiled by then is left out
};

namespace detail {
struct CompiledBuild;
}  // namespace detail

/// One configuration, compiled. Its binary is in the store under the key.
struct CompiledConfig {
  Bindings config;                ///< as it was given
  Outcome outcome = Outcome::ok;  ///< ok, rejected, compile_failed, timed_out or crashed
  std::string message;            ///< why not
  std::string log;                ///< the compiler's output
  std::string key;                ///< of the artifact
  Resources resources;            ///< registers, shared memory
  double seconds = 0;             ///< wall clock; 0: it was compiled before

  /// The configuration as a callable (include xtune/kernel.hpp) for the problem that it was compiled for, in the
  /// application's own context and on its own stream; a call whose scalars give other sizes is Error(invalid_argument).
  /// checked: as LoadSettings::checked. Throws Error: nothing_valid where it did not compile, unavailable where the
  /// store has lost the binary or the backend has no driver here, unsupported for what no call can launch. A device
  /// that does not take the binary is Error(unavailable) out of the first call.
  Kernel kernel(bool checked = true) const;
  /// The same as a typed kernel: kernel<void(const float* x, float* y, int n)>(). Throws Error(invalid_argument) where
  /// the type does not fit.
  template <class Type>
  TypedKernel<Type> kernel(bool checked = true) const;

 private:
  friend struct Access;
  std::shared_ptr<const detail::CompiledBuild> build_;
};

/// Compiles these configurations, in their order, for manual sweeps; no device is needed. One that the space does not
/// allow is rejected. Throws as tune.
std::vector<CompiledConfig> compile_all(const Tunable& tunable, const std::vector<Bindings>& configs,
                                        const CompileSettings& settings = {});

/// The valid configurations of a Tunable for a problem and device, in the order of the space. Throws
/// Error(invalid_argument) where there are more than `most`, Error(interrupted) where the stop token ends it.
std::vector<Bindings> all_configs(const Tunable& tunable, const CompileSettings& settings = {},
                                  std::uint64_t most = 1'000'000);

}  // namespace xtune
