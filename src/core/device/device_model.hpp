// What the cost model knows of a device beyond DeviceInfo: how fast its parts are, and in what portions they are given
// out.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device_info.hpp"

namespace xtune::device {

/// The kinds of arithmetic that data sheets give a rate for. f32 and f64 run on the vector units, the others on matrix
/// units.
enum class Rate { f32, f64, matrix_f64, matrix_tf32, matrix_f16, matrix_bf16, matrix_f8, matrix_i8 };
inline constexpr std::size_t rate_count = 8;

/// An instruction by which one warp or wave multiplies matrices: M x K by K x N.
struct MatrixInstruction {
  std::string type;  ///< "f16", "bf16", "tf32", "f64", "f8", "i8"
  int m = 0, n = 0, k = 0;
};

/// Every 0 stands for unknown.
struct DeviceModel {
  DeviceInfo info;
  int blocks_per_compute_unit = 0;
  int registers_per_thread = 0;  ///< at most
  int register_granule = 0;      ///< a thread's registers are rounded up to a multiple of it
  int schedulers = 0;            ///< of a compute unit; AMD: SIMDs
  int shared_bytes_per_clock = 0, cache_bytes_per_clock = 0;  ///< of a compute unit; cache: the first level
  int fma_per_clock = 0;                                      ///< f32, of a compute unit's vector units
  int dependent_cycles = 0;                                   ///< until an arithmetic result can be used
  double clock_mhz = 0;
  double memory_GB_s = 0;
  std::array<double, rate_count> peak_tflops{};  ///< of this device; without sparsity
  std::vector<MatrixInstruction> matrix_instructions;

  double peak(Rate rate) const { return peak_tflops[static_cast<std::size_t>(rate)]; }
  bool has_matrix(std::string_view type) const;
};

/// The model of a device, present or known by its architecture or product (known_devices.def). What info tells wins
/// over the table: its limits, its compute units (peaks scale with them), and, where they are not 0, its clocks and its
/// bus. Of a device that tells no compute units, as in recordings, all is the table's, by its name where its
/// architecture is not known. Throws Error(invalid_argument), naming the nearest one, for an architecture that the
/// table does not have.
DeviceModel device_model(const DeviceInfo& reported);

}  // namespace xtune::device
