// What a configuration asks of a device, in the cost model's terms, and how long the device takes for it.
#pragma once

#include <optional>
#include <string>

#include "core/device/device_model.hpp"
#include "core/spec/dtype.hpp"

namespace xtune::model {

/// A launch as the cost model sees it. Cycles are a compute unit's, spent by one block from its start to its end.
struct Work {
  double blocks = 1;
  double threads = 0;         ///< of a block
  double registers = 0;       ///< of a thread, before the device's limits
  double shared_bytes = 0;    ///< of a block
  double blocks_at_most = 0;  ///< registers are rationed so that this many blocks fit a compute unit; 0: as they come
  device::Rate rate = device::Rate::f32;  ///< of the arithmetic
  double flops = 0;                       ///< of a block
  double instructions = 0;                ///< of a block's warps, besides the arithmetic
  double shared_cycles = 0;               ///< in which a block keeps the shared memory's port busy
  double cache_cycles = 0;                ///< the same of the first-level cache
  double l2_bytes = 0;                    ///< that a block moves between its compute unit and L2
  double serial_cycles = 0;               ///< a block's own chain of dependent work, had it the compute unit for itself
  double spill_uses = 0;                  ///< how often a thread reads and writes each register that does not fit
  double memory_bytes = 0;                ///< of the whole launch, from and to the device's memory
  double bytes_in_flight = 0;             ///< reads of memory that a block keeps under way
  double extra_us = 0;                    ///< beyond blocks: a second phase, atomics to one place

  bool operator==(const Work&) const = default;
};

/// The time and what it is made of. Each part is what the launch would take were that part alone.
struct Estimate {
  double time_ms = 0;
  int blocks_per_unit = 0;
  double occupancy = 0;  ///< resident threads of those that a compute unit holds at most
  double waves = 0;
  double registers = 0, spilled = 0;  ///< of a thread
  double memory_bytes = 0;
  double compute_ms = 0, shared_ms = 0, cache_ms = 0, l2_ms = 0, memory_ms = 0, latency_ms = 0;
  std::string residency;  ///< what keeps more blocks from being resident: "registers", "shared memory", "threads", ...
  std::string bound;      ///< the largest part: "compute", "shared memory", "cache", "L2", "memory", "latency"
};

/// Why no block of this work fits the device, or nothing. Says so too of work that makes no sense.
std::optional<std::string> misfit(const Work& work, const device::DeviceModel& device);
/// For work that fits. More work, more traffic or a slower device never makes it faster, all else equal.
Estimate estimate(const Work& work, const device::DeviceModel& device);

/// "registers allow 2 blocks (25 % of the threads), 7.5 waves, 0.5 GB; compute 10.2 ms, shared memory 5.1 ms".
std::string describe(const Estimate& estimate);

/// What a compute unit does with one block, per clock; the device's clock in GHz. Where the table does not know a
/// figure, what stands in is the same for every configuration, so that it moves no rank.
struct Throughput {
  explicit Throughput(const device::DeviceModel& device);
  double flops_per_cycle(device::Rate rate) const;

  const device::DeviceModel& device;
  double clock_GHz, units, warp, schedulers;
  double shared_bytes, cache_bytes, l2_bytes;  ///< a clock
  /// Cycles in which one register of each thread of a warp arrives.
  double shared_register_cycles() const { return warp * 4 / shared_bytes; }
  double cache_register_cycles() const { return warp * 4 / cache_bytes; }
  /// A SIMD of 16 lanes takes four clocks for a wave of 64, and issues for it once in that time.
  double issue_cycles() const { return warp > 32 ? warp / 16 : 1; }
};

/// The matrix rate for inputs of a type, and the name that MatrixInstruction has for it ("" for none).
device::Rate matrix_rate(DType type) noexcept;
const char* matrix_type(DType type) noexcept;

// Latencies in cycles, rounded from Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking" (2019), for
// every device: shared memory 19 to 23, first-level cache 32, L2 190 to 240, memory 300 to 600 when idle.
inline constexpr double shared_latency = 24, cache_latency = 36, l2_latency = 220, memory_latency = 600;
inline constexpr double barrier_cycles = 30;

}  // namespace xtune::model
