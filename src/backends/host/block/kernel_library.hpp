// A kernel's shared library: the facts in its image, the loaded library, and its kernels' parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/native_kernel.hpp"
#include "core/build/artifact.hpp"
#include "core/measure/device.hpp"
#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

/// A kernel of a loaded library.
struct LoadedEntry {
  const XtuneKernel* kernel = nullptr;
  bool sanitized = false;
};

/// The loaded kernels of an artifact; unloaded on destruction. The caller must not destroy it while one runs.
class KernelLibrary {
 public:
  /// own_arch: that of this CPU. Throws CandidateFailure(launch_failed) if it is damaged, of another version of xtune,
  /// for a newer CPU, or sanitized while this process has no AddressSanitizer.
  KernelLibrary(const build::Artifact& artifact, const std::string& own_arch);
  /// By the artifact's symbol. Throws CandidateFailure(launch_failed) where the image does not have it.
  const XtuneVariable& variable(const std::string& symbol) const;
  /// By its number among the artifact's entries.
  const LoadedEntry& entry(std::size_t number) const { return entries_.at(number); }
  /// As ImageLibrary::memory.
  std::vector<std::span<const std::byte>> memory() const { return library_->memory(); }
  /// Lets the kernels call the process's services; once, before the first launch.
  void bind(const XtuneServices& services) const { entries_.front().kernel->bind(&services); }
  /// Keeps the code loaded until the end of the process.
  void keep_code() noexcept { library_->keep_resident(); }

 private:
  std::optional<cpu::ImageLibrary> library_;
  std::vector<LoadedEntry> entries_;
};

/// Throws CandidateFailure(launch_failed) with the first argument of a spec that does not fit the kernel's parameter,
/// by the types that both name. Types that a kernel may read the same bytes as, such as int for packed i8, or unsigned
/// for the bits of f32, are taken.
void check_parameters(std::span<const measure::ArgumentType> arguments, const XtuneKernel& kernel);

}  // namespace xtune::host
