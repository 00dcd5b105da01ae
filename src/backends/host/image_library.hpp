// A shared library loaded from an artifact's image, without a file in the file system.
#pragma once

#include <string>

#include "base/dynamic_library.hpp"
#include "core/build/artifact.hpp"

namespace xtune::host {

/// Throws CandidateFailure(launch_failed): "the kernel was not loaded: why".
[[noreturn]] void refuse_image(const std::string& why);

/// The code leaves memory with it. Unloading while the kernel runs is the caller's mistake.
class ImageLibrary {
 public:
  /// own_arch: what this CPU is; empty: the artifact's architecture is none of a CPU. Throws
  /// CandidateFailure(launch_failed): no ELF file, without `marker`, for a better CPU, or refused by the loader;
  /// Error(unavailable) when memory is short.
  ImageLibrary(const build::Artifact& artifact, const char* marker, const std::string& own_arch);
  ~ImageLibrary();
  ImageLibrary(const ImageLibrary&) = delete;
  ImageLibrary& operator=(const ImageLibrary&) = delete;

  /// Where the artifact's entry_symbol is.
  void* entry() const noexcept { return entry_; }
  /// nullptr: there is no such symbol.
  void* find(const std::string& symbol) const noexcept { return library_.find(symbol.c_str()); }
  /// The code stays to the end of the process.
  void keep_resident() noexcept { resident_ = true; }

 private:
  int file_ = -1;  ///< the image in memory; open as long as the loader knows it by its path
  base::DynamicLibrary library_;
  void* entry_ = nullptr;
  bool resident_ = false;
};

}  // namespace xtune::host
