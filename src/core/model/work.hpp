// The work of a configuration in the cost model's terms, and the time that a device takes for it.
#pragma once

#include <optional>
#include <string>

#include "core/device/device_info.hpp"
#include "core/spec/dtype.hpp"

namespace xtune::model {

/// A launch for the cost model. Cycles are those of a compute unit, for one block from its start to its end.
struct Work {
  double blocks = 1;
  double threads = 0;         ///< per block
  double registers = 0;       ///< per thread, before the device's limits
  double shared_bytes = 0;    ///< per block
  double blocks_at_most = 0;  ///< registers are limited so that this many blocks fit a compute unit; 0: no limit
  device::Rate rate = device::Rate::f32;  ///< of the arithmetic
  double flops = 0;                       ///< per block
  double instructions = 0;                ///< of a block's warps, besides the arithmetic
  double shared_cycles = 0;               ///< of shared memory's port, per block
  double cache_cycles = 0;                ///< of the first-level cache's port, per block
  double l2_bytes = 0;                    ///< between a compute unit and L2, per block
  double serial_cycles = 0;               ///< a block's own chain of dependent work, without other blocks
  double spill_uses = 0;                  ///< how often a thread reads and writes each register that does not fit
  double memory_bytes = 0;                ///< from and to device memory, whole launch
  double bytes_in_flight = 0;             ///< reads of memory that a block keeps in flight
  double extra_us = 0;                    ///< work outside of blocks: a second phase, atomics to one place

  bool operator==(const Work&) const = default;
};

/// The time and its parts. Each part is the time of the launch if only that part took time.
struct Estimate {
  double time_ms = 0;
  int blocks_per_unit = 0;
  double occupancy = 0;  ///< resident threads, relative to the maximum of a compute unit
  double waves = 0;
  double registers = 0, spilled = 0;  ///< per thread
  double memory_bytes = 0;
  double compute_ms = 0, shared_ms = 0, cache_ms = 0, l2_ms = 0, memory_ms = 0, latency_ms = 0;
  std::string residency;  ///< the limit on resident blocks: "registers", "shared memory", "threads", ...
  std::string bound;      ///< the largest part: "compute", "shared memory", "cache", "L2", "memory", "latency"
};

/// Why no block of this work fits the device; nullopt if one does. Also reports work with invalid sizes.
std::optional<std::string> misfit(const Work& work, const device::DeviceModel& device);
/// For work that fits. More work, more traffic or a slower device never reduces the time, all else equal.
Estimate estimate(const Work& work, const device::DeviceModel& device);

/// "registers allow 2 blocks (25 % of the threads), 7.5 waves, 0.5 GB; compute 10.2 ms, shared memory 5.1 ms".
std::string describe(const Estimate& estimate);

/// The throughput of a compute unit for one block, per clock; the device's clock in GHz. A figure that the table does
/// not have is replaced by one that is the same for every configuration, so that it does not affect ranks.
struct Throughput {
  explicit Throughput(const device::DeviceModel& device);
  double flops_per_cycle(device::Rate rate) const;

  const device::DeviceModel& device;
  double clock_GHz, units, warp, schedulers;
  double shared_bytes, cache_bytes, l2_bytes;  ///< per clock
  /// Cycles to load one register for each thread of a warp.
  double shared_register_cycles() const { return warp * 4 / shared_bytes; }
  double cache_register_cycles() const { return warp * 4 / cache_bytes; }
  /// A SIMD of 16 lanes needs four clocks for a wave of 64, and issues one instruction for it in that time.
  double issue_cycles() const { return warp > 32 ? warp / 16 : 1; }
};

/// The matrix rate for inputs of a type, for f32 that of f32 where the device has it, else that of tf32; and the type's
/// name in MatrixInstruction ("" for none).
device::Rate matrix_rate(DType type, const device::DeviceModel& device) noexcept;
const char* matrix_type(DType type) noexcept;

// Latencies in cycles, rounded from Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking" (2019), for
// every device: shared memory 19 to 23, first-level cache 32, L2 190 to 240, memory 300 to 600 when idle.
inline constexpr double shared_latency = 24, cache_latency = 36, l2_latency = 220, memory_latency = 600;
inline constexpr double barrier_cycles = 30;

}  // namespace xtune::model
