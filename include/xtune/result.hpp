// What a tuning run found: the best configuration, every measurement, and the binary that won.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "xtune/across_rule.hpp"
#include "xtune/dtype.hpp"
#include "xtune/outcome.hpp"
#include "xtune/value.hpp"

namespace xtune {

class Kernel;
template <class Type>
class TypedKernel;

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

/// What a configuration uses of the device, as its compiler reports; unset: the compiler does not report it.
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

/// An argument of the compiled winner, as a caller passes it.
struct WinningArgument {
  /// What the kernel takes.
  enum class Kind {
    buffer,      ///< a device pointer that the kernel reads
    written,     ///< a device pointer that it writes, or reads and writes
    scalar,      ///< a value
    tensor_map,  ///< a descriptor, which no call of Result::kernel can pass
    constant     ///< no argument of a call: a variable of the source
  };
  std::string name;                  ///< in the spec
  Kind kind = Kind::buffer;          ///< what the kernel takes
  DType dtype = DType::f32;          ///< of its elements, or of the value
  std::vector<std::uint64_t> shape;  ///< of a buffer: in elements, for the problem
  std::string value;  ///< of a scalar: the spec's expression; the name of a problem size ("N") gives that size
  std::optional<Value> filled;  ///< of a scalar that follows from the configuration: xtune passes this
};

/// The compiled winner, and how it is launched.
struct WinningKernel {
  std::string source;                      ///< as it was compiled, with its flags as a comment
  std::string binary;                      ///< cubin, code object or shared library
  std::string format;                      ///< its file's extension: cubin, hsaco or so
  std::string entry_symbol;                ///< its name in the binary
  std::vector<std::uint32_t> grid;         ///< x, y, z in blocks
  std::vector<std::uint32_t> block;        ///< x, y, z in threads
  std::uint32_t shared_bytes = 0;          ///< dynamic shared memory
  std::string arch;                        ///< what it was compiled for: "sm_90a"
  std::vector<std::uint32_t> cluster;      ///< x, y, z in blocks; all 0: no cluster
  std::vector<WinningArgument> arguments;  ///< in the kernel's order
};

/// The configuration that serves all cases of a tune_cases, where the spec asks for one ([objective] across), as it
/// concerns one case.
struct Across {
  AcrossRule rule = AcrossRule::geomean;  ///< how it was chosen
  double score = 0;                       ///< of the ratios of all cases: their geometric mean, or the worst
  double ratio = 0;         ///< of its time (or objective) in this case to that of the case's best; at least 1
  Measurement measurement;  ///< of it in this case
};

/// One problem's outcome. Plain data, but for the questions it answers.
struct Result {
  std::string kernel_name;                  ///< in the store
  Bindings problem;                         ///< what was tuned for
  MeasuredDevice device;                    ///< where
  std::string toolchain;                    ///< the compiler
  std::optional<Measurement> winner;        ///< unset: nothing compiled, ran and gave the right result
  std::vector<Measurement> ties;            ///< what cannot be told from the winner within the noise
  std::optional<Across> across;             ///< unset: not asked for, only one case, or nothing passed in all cases
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
  /// The winner. Throws Error(nothing_valid) that says how the configurations failed.
  const Measurement& best() const;

  /// The winner as a callable (include xtune/kernel.hpp), in the application's own context and on its own stream. It is
  /// made from `binary` and needs neither a store nor a compiler, so a loaded result works as well. It is for this
  /// problem: a call whose scalars give other sizes is Error(invalid_argument); load() makes a kernel for any problem.
  /// checked: as LoadSettings::checked. Throws Error: nothing_valid without a winner, unavailable if its binary is
  /// missing or the backend has no driver here, unsupported for a kernel with a tensor map. A device that does not take
  /// the binary is Error(unavailable) out of the first call.
  Kernel kernel(bool checked = true) const;
  /// The same as a typed kernel: kernel<void(const float* x, float* y, int n)>(). Throws Error(invalid_argument) where
  /// the type does not fit.
  template <class Type>
  TypedKernel<Type> kernel(bool checked = true) const;

  /// Writes best_config.json, latency.json, and kernel.cu and the binary (kernel.cubin, kernel.hsaco, kernel.so) where
  /// they are known; other files of the folder stay. Throws Error(nothing_valid) without a winner,
  /// Error(invalid_argument) for an empty path, Error(io).
  void save(const std::filesystem::path& folder) const;
  /// Reads what save wrote. measurements holds what latency.json holds. Throws Error(invalid_argument) for an empty
  /// path; Error(io) that names the file and what is wrong with it: values, a binary or a source that are not those
  /// that were saved are refused.
  static Result load(const std::filesystem::path& folder);
};

}  // namespace xtune
