// What a tuning run found: the best configuration, every measurement, and the binary that won.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "xtune/outcome.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// Times of one configuration's launches, in milliseconds; all zero unless its outcome is ok or pruned.
struct Timing {
  std::uint64_t samples = 0;  ///< how many
  double min_ms = 0;          ///< the shortest
  double q1_ms = 0;           ///< first quartile
  double median_ms = 0;       ///< the middle
  double q3_ms = 0;           ///< third quartile
  double mean_ms = 0;         ///< arithmetic mean
  double max_ms = 0;          ///< the longest
  double noise = 0;           ///< (q3 - q1) / median
  double low_ms = 0;          ///< the median's 95 % confidence interval starts here
  double high_ms = 0;         ///< and ends here
};

/// What a configuration takes of the device, as its compiler tells; unset where it does not.
struct Resources {
  std::optional<int> registers;               ///< per thread
  std::optional<std::int64_t> spilled_bytes;  ///< per thread
  std::optional<std::int64_t> shared_bytes;   ///< per block, static and dynamic
  std::optional<int> max_threads_per_block;   ///< that the binary can be launched with
};

/// One configuration's attempt.
struct Measurement {
  Bindings config;                                      ///< parameter name, value
  Outcome outcome = Outcome::ok;                        ///< how it ended
  std::string stage;                                    ///< where: space, compile, load, run, validate or measure
  std::string message;                                  ///< why, where it failed
  double time_ms = 0;                                   ///< by the spec's statistic; of a pruned one a lower bound
  Timing timing;                                        ///< the whole summary
  std::vector<double> samples_ms;                       ///< as they were taken
  std::vector<std::pair<std::string, double>> metrics;  ///< of the spec, in its order; NaN: has no value
  Resources resources;                                  ///< registers, shared memory
  std::vector<std::string> tainted;                     ///< why the times are suspect; empty: they are not
  bool from_store = false;                              ///< measured by an earlier run
  double compile_s = 0;                                 ///< wall clock of its compiler; 0: nothing was compiled
  std::string key;                                      ///< of the measurement in the store
  std::string artifact_key;                             ///< of the binary in the store
};

/// The device that was measured.
struct MeasuredDevice {
  std::string backend;  ///< cuda, hip or host
  std::string name;     ///< "NVIDIA H200"
  std::string arch;     ///< "sm_90"
  int index = 0;        ///< as the driver numbers it
};

/// The compiled winner, and how it is launched.
struct WinningKernel {
  std::string source;                ///< as it was compiled, with its flags as a comment
  std::string binary;                ///< cubin, code object or shared library
  std::string format;                ///< its file's extension: cubin, hsaco or so
  std::string entry_symbol;          ///< its name in the binary
  std::vector<std::uint32_t> grid;   ///< x, y, z in blocks
  std::vector<std::uint32_t> block;  ///< x, y, z in threads
  std::uint32_t shared_bytes = 0;    ///< dynamic shared memory
};

/// One problem's outcome. Plain data, but for the questions it answers.
struct Result {
  std::string kernel;                       ///< its name
  Bindings problem;                         ///< what was tuned for
  MeasuredDevice device;                    ///< where
  std::string toolchain;                    ///< the compiler
  std::optional<Measurement> winner;        ///< unset: nothing compiled, ran and gave the right result
  std::vector<Measurement> ties;            ///< what cannot be told from the winner within the noise
  std::vector<Measurement> measurements;    ///< every configuration of this run, in the order of their ends
  std::map<Outcome, std::uint64_t> counts;  ///< of measurements
  std::uint64_t from_store = 0;             ///< measurements that the store answered
  std::uint64_t space_size = 0;             ///< valid configurations there are
  double total_s = 0;                       ///< wall clock
  double compile_cpu_s = 0;                 ///< CPU time of compilers
  double device_busy_s = 0;                 ///< wall clock that the device was used
  bool interrupted = false;                 ///< the stop token ended it
  bool out_of_time = false;                 ///< the budget of seconds ended it
  std::vector<std::string> warnings;        ///< what the user should know of the run
  std::optional<WinningKernel> binary;      ///< of the winner; unset where the store lost it

  bool found() const noexcept { return winner.has_value(); }  ///< whether there is a best configuration
  /// The winner. Throws Error(nothing_valid) that tells how the configurations failed.
  const Measurement& best() const;

  /// Writes best_config.json, latency.json, and kernel.cu and the binary (kernel.cubin, kernel.hsaco, kernel.so) where
  /// they are known; other files of the folder stay. Throws Error(nothing_valid) without a winner, Error(io).
  void save(const std::filesystem::path& folder) const;
  /// Reads what save wrote. measurements holds what latency.json holds. Throws Error(io) that names the file and what
  /// is wrong with it; a binary that is not the one saved is refused.
  static Result load(const std::filesystem::path& folder);
};

}  // namespace xtune
