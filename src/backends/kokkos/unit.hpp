// A compiled Kokkos unit in this process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cpu/native_kernel.hpp"
#include "runtime/kokkos/kokkos_abi.h"

namespace xtune::kokkos {

/// The start options of Kokkos; -1: Kokkos' default.
struct StartOptions {
  int device = -1, threads = -1;
};

/// The first unit initialises Kokkos, and finalises it when it is destroyed; units that are linked with a static Kokkos
/// have one each. For one thread.
class Unit {
 public:
  /// own_arch: that of this CPU; empty for a GPU's unit. Throws CandidateFailure(launch_failed) for an image that
  /// cannot be loaded, Error(unavailable) if Kokkos does not start.
  Unit(const build::Artifact& artifact, const std::string& own_arch, const StartOptions& options);
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  /// As of ImageLibrary.
  std::vector<std::span<const std::byte>> memory() const { return library_.memory(); }
  /// Keeps its code loaded until the end of the process, even after the unit is destroyed.
  void keep_code() noexcept { library_.keep_resident(); }
  /// Throws CandidateFailure(launch_failed) if they do not fit the entry's parameters.
  void check(std::span<const measure::KernelArgument> arguments) const;
  /// Calls the entry once with each, and waits; returns milliseconds from the first call to the end of the last. Throws
  /// CandidateFailure: launch_failed if Kokkos refuses, crashed if waiting fails.
  double run(std::span<const std::span<const measure::KernelArgument>> launches);
  /// Overwrites memory of the execution space. Throws CandidateFailure(crashed).
  void fill(void* memory, std::size_t bytes, unsigned long long value);

 private:
  cpu::ImageLibrary library_;
  const XtuneKokkosUnit* table_;
};

}  // namespace xtune::kokkos
