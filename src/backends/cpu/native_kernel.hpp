// A kernel that runs in this process: its library, loaded from an artifact's image without a file in the file system,
// and its arguments, checked against its parameters and laid out for the call.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/measure/device.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::cpu {

/// The name of an image's file in memory: a library that cannot be unloaded keeps it open.
inline constexpr const char* image_file_name = "xtune-kernel";

/// Throws CandidateFailure(launch_failed): "the kernel was not loaded: why".
[[noreturn]] void refuse_image(const std::string& why);

/// A library that is unloaded on destruction. The caller must not destroy it while the kernel runs.
class ImageLibrary {
 public:
  /// own_arch: that of this CPU; empty: the artifact's architecture is not a CPU's. Throws
  /// CandidateFailure(launch_failed) if it is not an ELF file, lacks `marker`, is for a newer CPU, or is refused by the
  /// loader; Error(unavailable) if there is not enough memory.
  ImageLibrary(const build::Artifact& artifact, const char* marker, const std::string& own_arch);
  ~ImageLibrary();
  ImageLibrary(const ImageLibrary&) = delete;
  ImageLibrary& operator=(const ImageLibrary&) = delete;

  /// The address of the artifact's entry_symbol.
  void* entry() const noexcept { return entry_; }
  /// nullptr: there is no such symbol.
  void* find(const std::string& symbol) const noexcept { return library_.find(symbol.c_str()); }
  /// The memory that it was loaded into: code, constants and variables.
  std::vector<std::span<const std::byte>> memory() const;
  /// Keeps the code loaded until the end of the process.
  void keep_resident() noexcept { resident_ = true; }

 private:
  int file_ = -1;  ///< the image in memory; open as long as the loader uses its path
  system::DynamicLibrary library_;
  void* entry_ = nullptr;
  bool resident_ = false;
};

/// A kernel's parameter types: two arrays of `count`.
struct ArgumentTypes {
  int count;
  const unsigned* bytes;
  const bool* is_pointer;
};
/// Throws CandidateFailure(launch_failed) with the first argument that does not fit.
void check_arguments(std::span<const measure::KernelArgument> arguments, const ArgumentTypes& types);

/// Adds the memory of the buffers of all launches.
void add_buffers(const measure::RunOptions& options, std::vector<std::span<const std::byte>>& memory);

/// The addresses of arguments, which a kernel takes; pointers to buffers are stored here for this.
class ArgumentAddresses {
 public:
  explicit ArgumentAddresses(std::span<const measure::KernelArgument> arguments);
  void* const* data() const noexcept { return addresses_.data(); }

 private:
  std::vector<measure::KernelArgument> values_;  ///< scalars, also for pointers, and tensor maps
  std::vector<void*> addresses_;                 ///< into values_, whose memory moves together with this object
};

}  // namespace xtune::cpu
