// The host backend: compiles kernels for the CPU with the system's compiler, and runs them as a device and from an
// application's own threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime.hpp"
#include "core/build/artifact.hpp"
#include "core/measure/device.hpp"

namespace xtune::host {

/// Throws Error(unavailable) if there is no compiler. The artifacts' format is "so": shared libraries that export
/// xtune_kernel (runtime/xtune_host_abi.h); with `sanitize` they need a process with AddressSanitizer
/// (sanitizer_environment).
std::unique_ptr<build::Toolchain> make_toolchain();

/// Sum of the sizes of an ELF64 image's thread-local variables except the runtime's own: the kernel's static shared
/// memory. nullopt if it is not an ELF64 file with a symbol table.
std::optional<std::int64_t> thread_local_bytes(const std::string& image);

std::unique_ptr<measure::Device> make_device();

/// Returns the same object as long as it is in use.
std::shared_ptr<backend::Runtime> runtime();

/// The number of mapped bytes from this address on, up to `wanted`. Mapped does not mean allocated: a buffer that is
/// too short may be followed by other memory. nullopt: the system does not report it. Calls mincore(2) for each 4096
/// pages if all are mapped.
std::optional<std::size_t> mapped_bytes(const void* address, std::size_t wanted) noexcept;

/// For a process that runs sanitized kernels: LD_PRELOAD with the sanitizer libraries of the toolchain's compiler (none
/// if this program was itself built with AddressSanitizer: a child has it too), and options with which a report shows
/// the line and ends the process with exit code 99. Throws Error(unavailable) if there is no compiler or it has no such
/// libraries.
std::vector<std::pair<std::string, std::string>> sanitizer_environment();

}  // namespace xtune::host
