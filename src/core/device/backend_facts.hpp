// What is known of each backend without opening it: its name, what it takes and whose devices it drives (backends.def).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::device {

/// What a backend compiles or builds.
enum class SourceKind {
  cuda_cpp,  ///< a kernel in CUDA C++
  kokkos,    ///< a unit that uses Kokkos
  program,   ///< a whole program, by the user's own commands
};

/// Where outputs are compared with what is expected.
enum class ArgumentMemory {
  host,    ///< in the worker's memory
  device,  ///< in the device's own memory, by a kernel in CUDA C++
};

/// What compiles a backend's kernels.
enum class CompilerKind {
  library,        ///< within the compile worker, searching no folder unasked: NVRTC
  clang_library,  ///< within the compile worker, searching the system's folders for headers as Clang does: hipRTC
  program,        ///< a process of its own, which searches the system's folders for headers and libraries
};

struct BackendFacts {
  const char* name;
  bool built_in;  ///< whether this build has it
  SourceKind source;
  const char* vendor;  ///< of its devices: "nvidia", "amd", "cpu"; "" for any
  ArgumentMemory memory;
  CompilerKind compiler;
};

/// Every backend, in the order of backends.def, with those left out of this build.
std::span<const BackendFacts> all_backends() noexcept;
/// nullptr for a name that no backend has.
const BackendFacts* find_backend_facts(std::string_view name) noexcept;
/// Throws Error(invalid_argument) for a name that no backend has, Error(unsupported) for one left out of this build.
const BackendFacts& require_backend(std::string_view name);
/// The names of all backends that take such sources.
std::vector<std::string> backends_of(SourceKind source);
/// Names of the backends of kernels in this build, in the order that `--backend auto` tries them.
std::vector<std::string> backend_names();
/// The backend of kernels for a vendor's devices: "cuda" for "nvidia".
std::string backend_of_vendor(std::string_view vendor);

/// A toolchain's fingerprint without its digests, for people: "nvrtc 13.0" of "nvrtc 13.0 65be0db342ad, parts ...".
std::string compiler_name(std::string_view fingerprint);

}  // namespace xtune::device
