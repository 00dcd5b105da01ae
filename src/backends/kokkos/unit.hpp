// A compiled Kokkos unit in this process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/host/image_library.hpp"
#include "backends/host/kernel_arguments.hpp"
#include "backends/kokkos/runtime/kokkos_abi.h"

namespace xtune::kokkos {

/// What Kokkos is started with; -1: left to Kokkos.
struct StartOptions {
  int device = -1, threads = -1;
};

/// With the first unit Kokkos is initialised, and finalised as the unit that did so goes; units that are linked with a
/// static Kokkos have one each. One thread.
class Unit {
 public:
  /// own_arch: what this CPU is; empty for a GPU's unit. Throws CandidateFailure(launch_failed) for an image that does
  /// not load, Error(unavailable) when Kokkos does not start.
  Unit(const build::Artifact& artifact, const std::string& own_arch, const StartOptions& options);
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  /// Its code stays to the end of the process, when the unit itself has gone.
  void keep_code() noexcept { library_.keep_resident(); }
  /// Throws CandidateFailure(launch_failed) when they are not what the entry takes.
  void check(std::span<const measure::KernelArgument> arguments) const;
  /// Calls the entry once with each, and waits; milliseconds from the first to the end of the last. Throws
  /// CandidateFailure: launch_failed when Kokkos refuses, crashed when waiting fails.
  double run(std::span<const std::span<const measure::KernelArgument>> launches);
  /// Overwrites memory of the execution space. Throws CandidateFailure(crashed).
  void fill(void* memory, std::size_t bytes, unsigned long long value);

 private:
  host::ImageLibrary library_;
  const XtuneKokkosUnit* table_;
};

}  // namespace xtune::kokkos
