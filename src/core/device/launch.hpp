// How a configuration is started: the launches of its kernels, or the call of a program; and limits that forbid a
// launch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/device/program_call.hpp"

namespace xtune::device {

/// The shape of one kernel launch.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  ///< all zero: no cluster
  std::uint32_t shared_bytes = 0;                 ///< dynamic shared memory
  bool cooperative = false;                       ///< all blocks are resident at once, so they may wait for each other

  std::uint64_t blocks() const noexcept { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
};

/// One of the kernels that a configuration launches in sequence.
struct Step {
  Launch launch{};
  std::size_t kernel = 0;  ///< its number among the artifact's entries
  /// Positions of its arguments among those of the configuration; unset: all of them, in their order.
  std::optional<std::vector<std::size_t>> arguments{};
  std::string name{};  ///< "step 2 'gemm'", for messages; empty: the only kernel of a spec without steps

  /// Those of the configuration's arguments that this kernel takes, in its order. Throws std::out_of_range.
  template <class Argument>
  std::vector<Argument> chosen(std::span<const Argument> all) const {
    if (!arguments) return {all.begin(), all.end()};
    std::vector<Argument> own;
    for (const std::size_t position : *arguments) {
      if (position >= all.size()) throw std::out_of_range("a step takes an argument that the configuration lacks");
      own.push_back(all[position]);
    }
    return own;
  }
  /// "step 2 'gemm': message", or only the message.
  std::string named(const std::string& message) const { return name.empty() ? message : name + ": " + message; }
};

struct LaunchPlan {
  LaunchPlan() = default;
  LaunchPlan(Launch only) : steps{Step{only}} {}  // NOLINT(google-explicit-constructor): one kernel is the usual case

  std::vector<Step> steps;          ///< launched one after the other; empty for a program
  std::optional<ProgramCall> call;  ///< of a program, which has no launches

  /// Whether a step takes the configuration's argument at this position.
  bool takes(std::size_t position) const {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
      return !step.arguments ||
             std::find(step.arguments->begin(), step.arguments->end(), position) != step.arguments->end();
    });
  }
  /// The maximum of the steps' dynamic shared memory, in bytes.
  std::uint32_t max_shared_bytes() const {
    std::uint32_t bytes = 0;
    for (const Step& step : steps) bytes = std::max(bytes, step.launch.shared_bytes);
    return bytes;
  }
};

/// Resources of the kernel: from the compiler before it is loaded, from the driver after.
struct KernelNeeds {
  std::optional<int> registers;  ///< per thread
  std::optional<int> max_threads_per_block;
  std::int64_t static_shared_bytes = 0;
};

/// nullopt: no known limit forbids the launch. Otherwise a sentence with both numbers for the record: "block of 2048
/// threads exceeds device.max_threads_per_block = 1024". A device limit of 0 is unknown.
std::optional<std::string> forbidden(const Launch& launch, const KernelNeeds& kernel, const DeviceInfo& device);

/// The same for a cooperative launch, by how many blocks are resident on each compute unit.
std::optional<std::string> exceeds_resident(const Launch& launch, std::int64_t each, const DeviceInfo& device);

/// Registers that an NVIDIA multiprocessor allocates for a block, per warp in units of 256 (occupancy data of the CUDA
/// C++ Programming Guide, every architecture since 3.0). A partly filled warp counts as a whole one.
std::int64_t registers_of_block(std::int64_t threads, int registers, int warp_size) noexcept;

}  // namespace xtune::device
