// Facts about a device that the cost model needs beyond DeviceInfo: the speed of its parts, and the units in which they
// are allocated.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device_info.hpp"

namespace xtune::device {

/// The kinds of arithmetic for which data sheets give a rate. f32 and f64 run on the vector units, the others on matrix
/// units.
enum class Rate { f32, f64, matrix_f64, matrix_tf32, matrix_f16, matrix_bf16, matrix_f8, matrix_i8, matrix_f32 };
inline constexpr std::size_t rate_count = 9;

/// An instruction with which one warp or wave multiplies matrices: M x K by K x N.
struct MatrixInstruction {
  std::string type;  ///< "f16", "bf16", "tf32", "f32", "f64", "f8", "i8"
  int m = 0, n = 0, k = 0;
};

/// 0 means unknown for every number.
struct DeviceModel {
  DeviceInfo info;
  int blocks_per_compute_unit = 0;
  int registers_per_thread = 0;  ///< maximum
  int register_granule = 0;      ///< a thread's registers are rounded up to a multiple of this
  int schedulers = 0;            ///< per compute unit; AMD: SIMDs
  int shared_bytes_per_clock = 0, cache_bytes_per_clock = 0;  ///< per compute unit; cache: the first level
  int fma_per_clock = 0;                                      ///< f32, vector units of a compute unit
  int dependent_cycles = 0;                                   ///< latency of an arithmetic result
  double clock_mhz = 0;
  double memory_GB_s = 0;
  std::array<double, rate_count> peak_tflops{};  ///< of this device; without sparsity
  std::vector<MatrixInstruction> matrix_instructions;

  double peak(Rate rate) const { return peak_tflops[static_cast<std::size_t>(rate)]; }
  bool has_matrix(std::string_view type) const;
};

/// The model of a device, which is present or known by its architecture or product (known_devices.def). Facts in
/// `reported` override the table: its limits, its compute units (peaks scale with them), and, if they are not 0, its
/// clocks and its bus. If it has no compute units, as in recordings, everything is from the table, by name if the
/// architecture is not known. Throws Error(invalid_argument), with the nearest name, for an architecture that is not in
/// the table.
DeviceModel device_model(const DeviceInfo& reported);

}  // namespace xtune::device
