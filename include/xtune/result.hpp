// The result of a tuning run: the best configuration, every measurement, and the compiled winner.
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
  std::uint64_t samples = 0;  ///< number of samples
  double min_ms = 0;          ///< minimum
  double q1_ms = 0;           ///< first quartile
  double median_ms = 0;       ///< median
  double q3_ms = 0;           ///< third quartile
  double mean_ms = 0;         ///< arithmetic mean
  double max_ms = 0;          ///< maximum
  double noise = 0;           ///< (q3 - q1) / median
  double low_ms = 0;          ///< lower end of the median's 95 % confidence interval
  double high_ms = 0;         ///< upper end of the median's 95 % confidence interval
};

/// Resources of the device that a configuration uses, as its compiler reports them; unset: not reported.
struct Resources {
  std::optional<int> registers;               ///< registers per thread
  std::optional<std::int64_t> spilled_bytes;  ///< spilled bytes per thread
  std::optional<std::int64_t> shared_bytes;   ///< bytes per block, static and dynamic
  std::optional<int> max_threads_per_block;   ///< maximum block size that the binary can be launched with
};

/// One configuration and how it ended.
struct Measurement {
  Bindings config;                                      ///< parameter name -> value
  Outcome outcome = Outcome::ok;                        ///< how it ended
  std::string stage;                                    ///< last stage: space, compile, load, run, validate or measure
  std::string message;                                  ///< the reason, if it failed
  double time_ms = 0;                                   ///< by the spec's statistic, milliseconds; for a pruned
                                                        ///< configuration a lower bound
  Timing timing;                                        ///< summary of the samples
  std::vector<double> samples_ms;                       ///< samples in the order they were taken, milliseconds
  std::vector<std::pair<std::string, double>> metrics;  ///< the spec's metrics, in its order; NaN: no value
  Resources resources;                                  ///< registers, shared memory
  /// Time of the spec's reference kernel, measured once in the same run, in milliseconds; unset: the reference is not a
  /// kernel, or was not timed.
  std::optional<double> reference_ms{};
  std::vector<std::string> tainted;  ///< reasons to doubt the times; empty: no doubts
  bool from_store = false;           ///< measured by an earlier run
  double compile_s = 0;              ///< wall-clock seconds of its compiler; 0: nothing was compiled
  std::string key;                   ///< key of the measurement in the store
  std::string artifact_key;          ///< key of the binary in the store

  /// reference_ms / time_ms: above 1, the configuration is faster than the reference. Unset: not known.
  std::optional<double> speedup() const noexcept {
    if (outcome != Outcome::ok || !reference_ms || !(time_ms > 0)) return std::nullopt;
    return *reference_ms / time_ms;
  }
};

/// The device that was measured.
struct MeasuredDevice {
  std::string backend;  ///< cuda, hip or host
  std::string name;     ///< "NVIDIA H200"
  std::string arch;     ///< "sm_90"
  int index = 0;        ///< number of the device in the driver
};

/// How the compiled winner reads a buffer through a tensor map (CUtensorMap): the parameters of cuTensorMapEncodeTiled,
/// with dimensions in the order of the shape (the last one is contiguous) and strides in elements.
struct WinningTensorMap {
  std::string of;                             ///< name of the buffer
  bool tf32 = false;                          ///< f32 is rounded to tf32
  bool nan_outside = false;                   ///< what lies outside of the shape reads as NaN, not as zero
  std::vector<std::int64_t> shape;            ///< of the view, in elements
  std::vector<std::int64_t> strides;          ///< of all dimensions but the last
  std::vector<std::int64_t> box;              ///< elements that one copy takes
  std::vector<std::int64_t> element_strides;  ///< steps between elements
  std::int64_t swizzle = 0;                   ///< bytes
  std::int64_t l2_promotion = 0;              ///< bytes
  std::int64_t interleave = 0;                ///< bytes
};

/// A number in a struct by value.
struct WinningField {
  std::size_t at_byte = 0;   ///< of the struct
  DType dtype = DType::f32;  ///< type of the number
  std::string value;         ///< as WinningArgument::value
};

/// An argument of the compiled winner, in the form that a caller passes.
struct WinningArgument {
  /// The kind of argument.
  enum class Kind {
    buffer,      ///< a device pointer that the kernel reads
    written,     ///< a device pointer that it writes, or reads and writes
    scalar,      ///< a value
    tensor_map,  ///< a description of a buffer, which xtune makes from the buffer that the caller passes
    constant,    ///< no argument of a call: a variable of the source
    structure,   ///< a struct or vector by value
    scratch,     ///< memory of one launch, which a call need not pass
    zeroed       ///< the same, with zeros before each launch
  };
  std::string name;                  ///< name in the spec
  Kind kind = Kind::buffer;          ///< the kind of argument
  DType dtype = DType::f32;          ///< type of the elements, or of the value
  std::vector<std::uint64_t> shape;  ///< of a buffer: extents for the problem, in elements
  std::string value;  ///< of a scalar: the spec's expression; the name of a problem size ("N") gives that size
  std::optional<Value> filled;  ///< of a scalar that follows from the configuration: the value that xtune passes
  std::optional<WinningTensorMap> map{};  ///< of a tensor map: what it describes
  std::vector<WinningField> fields{};     ///< of a struct: its numbers; empty: only its bytes are known
  std::vector<std::uint8_t> bytes{};      ///< of a struct: as it was measured, and as xtune passes one that is filled
};

/// One of the kernels of a winner that launches several in sequence ([[steps]]).
struct WinningStep {
  std::string entry_symbol;              ///< name of the kernel in the binary
  std::vector<std::uint32_t> grid;       ///< x, y, z in blocks
  std::vector<std::uint32_t> block;      ///< x, y, z in threads
  std::uint32_t shared_bytes = 0;        ///< dynamic shared memory
  std::vector<std::uint32_t> cluster;    ///< x, y, z in blocks; all 0: no cluster
  std::int64_t static_shared_bytes = 0;  ///< shared memory that the kernel declares
  std::vector<std::string> arguments;    ///< names of those that it takes, in its order
  bool cooperative = false;              ///< launched so that all blocks are resident at once
};

/// The compiled winner, and its launch.
struct WinningKernel {
  std::string source;                      ///< the source as it was compiled, with its flags as a comment
  std::string binary;                      ///< cubin, code object or shared library
  std::string format;                      ///< extension of the binary's file: cubin, hsaco or so
  std::string entry_symbol;                ///< name of the kernel in the binary; empty: see steps
  std::vector<std::uint32_t> grid;         ///< x, y, z in blocks; empty: see steps
  std::vector<std::uint32_t> block;        ///< x, y, z in threads; empty: see steps
  std::uint32_t shared_bytes = 0;          ///< dynamic shared memory
  std::string arch;                        ///< the architecture it was compiled for: "sm_90a"
  std::vector<std::uint32_t> cluster;      ///< x, y, z in blocks; all 0: no cluster
  std::vector<WinningArgument> arguments;  ///< in the spec's order
  /// The numbers of the arguments that the kernel takes, in its order; empty: all but constants, in this order.
  std::vector<std::size_t> kernel_arguments{};
  std::vector<WinningStep> steps{};  ///< of a spec with [[steps]]: the kernels, in the order of their launches
  bool cooperative = false;          ///< launched so that all blocks are resident at once
};

/// The one configuration for all cases of tune_cases, if the spec asks for it ([objective] across), as measured in one
/// case.
struct Across {
  AcrossRule rule = AcrossRule::geomean;  ///< how it was chosen
  double score = 0;                       ///< over the ratios of all cases: their geometric mean, or the maximum
  double ratio = 0;         ///< its time (or objective) in this case, divided by that of the case's best; at least 1
  Measurement measurement;  ///< its measurement in this case
};

/// The time that a launch of a configuration is expected to take for a problem without a measurement, milliseconds.
struct ExpectedTime {
  double time_ms = 0;  ///< the median
  double low_ms = 0;   ///< the begin of an interval that holds the time with a probability of 80 %, as far as is known
  double high_ms = 0;  ///< its end
};

/// The answer of a run with effort "none", which measures nothing.
struct Prediction {
  Bindings config;                       ///< parameter name -> value
  std::optional<double> time_ms;         ///< of a launch, milliseconds; unset: not known
  std::optional<ExpectedTime> expected;  ///< unset: not known, or time_ms is the store's measurement of this problem
  std::string source;                    ///< what the configuration is from, for people
};

/// The result for one problem: plain data, and functions that use it.
struct Result {
  std::string kernel_name;                  ///< the kernel's name in the store
  Bindings problem;                         ///< the problem that was tuned
  MeasuredDevice device;                    ///< the device that was measured
  std::string toolchain;                    ///< the compiler
  std::optional<Measurement> winner;        ///< unset: no configuration compiled, ran and gave the right result
  std::vector<Measurement> ties;            ///< configurations whose difference from the winner is within the noise
  std::optional<Prediction> prediction;     ///< unset: the effort was not "none"; Result::load does not restore it
  std::optional<Across> across;             ///< unset: not requested, only one case, or none passed in all cases
  std::vector<Measurement> measurements;    ///< every configuration of this run, in the order in which they ended
  std::map<Outcome, std::uint64_t> counts;  ///< number of measurements by outcome
  std::uint64_t from_store = 0;             ///< number of measurements that came from the store
  std::uint64_t space_size = 0;             ///< number of valid configurations in the space
  double total_s = 0;                       ///< wall-clock seconds
  double compile_cpu_s = 0;                 ///< CPU seconds of compilers
  double device_busy_s = 0;                 ///< wall-clock seconds in which the device was used
  bool interrupted = false;                 ///< the stop token ended it
  bool out_of_time = false;                 ///< the budget of seconds ended it
  std::vector<std::string> warnings;        ///< problems with the measurements that the user should know about
  std::optional<WinningKernel> binary;      ///< the compiled winner; unset: see no_binary
  std::string no_binary;                    ///< why there is no binary of the winner; empty: a directory had none

  bool found() const noexcept { return winner.has_value(); }  ///< whether there is a best configuration
  /// The winner. Throws Error(nothing_valid) with a summary of the failures if there is none.
  const Measurement& best() const;

  /// The winner as a callable (include xtune/kernel.hpp), in the application's own context and on its own stream. It is
  /// made from `binary` and needs neither a store nor a compiler, so a loaded result works as well. It is only for this
  /// problem: a call whose scalars give other sizes throws Error(invalid_argument); load() makes a kernel for any
  /// problem. checked: as LoadSettings::checked. Throws Error: nothing_valid without a winner, unavailable if its
  /// binary is missing or the backend has no driver here, unsupported for a kernel with constants. If the device
  /// cannot load the binary, the first call throws Error(unavailable).
  Kernel kernel(bool checked = true) const;
  /// The same as a typed kernel: kernel<void(const float* x, float* y, int n)>(). Also throws Error(invalid_argument)
  /// if the type does not fit.
  template <class Type>
  TypedKernel<Type> kernel(bool checked = true) const;

  /// Writes into a directory, which is made if it does not exist: best_config.json and latency.json, and if they are
  /// known kernel.cu and the binary (kernel.cubin, kernel.hsaco or kernel.so). Other files in the directory are not
  /// touched. Throws Error(nothing_valid) without a winner, Error(invalid_argument) for an empty path and for a file,
  /// Error(io).
  void save(const std::filesystem::path& folder) const;
  /// Reads what save wrote; `measurements` has the contents of latency.json. Throws Error(invalid_argument) for an
  /// empty path and for a file, and Error(io) with the file and the problem if values, the binary or the source differ
  /// from those that were saved, or if other users can change them.
  static Result load(const std::filesystem::path& folder);
};

}  // namespace xtune
