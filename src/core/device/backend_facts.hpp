// Facts about each backend that do not require opening it: its name, its sources and its devices (backends.def).
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
  program,   ///< a whole program, built with the user's commands
};

/// Where outputs are compared with the expected ones.
enum class ArgumentMemory {
  host,    ///< in the worker's memory
  device,  ///< in the device's own memory, by a kernel in CUDA C++
};

/// What compiles a backend's kernels.
enum class CompilerKind {
  library,        ///< in the compile worker, searches only directories that are given: NVRTC
  clang_library,  ///< in the compile worker, searches the system's directories for headers as Clang does: hipRTC
  program,        ///< a separate process, which searches the system's directories for headers and libraries
};

struct BackendFacts {
  const char* name;
  bool built_in;  ///< whether it is part of this build
  SourceKind source;
  const char* vendor;  ///< of its devices: "nvidia", "amd", "cpu"; "" for any
  ArgumentMemory memory;
  CompilerKind compiler;
  const char* compilers;  ///< the names of several, with spaces, the preferred one first; "" for one; +: backends.def
};

/// Every backend, in the order of backends.def, including those that are not part of this build.
std::span<const BackendFacts> all_backends() noexcept;
/// nullptr for an unknown name.
const BackendFacts* find_backend_facts(std::string_view name) noexcept;
/// Throws Error(invalid_argument) for an unknown name, Error(unsupported) for a backend that is not part of this build.
const BackendFacts& require_backend(std::string_view name);
/// The names of all backends for this kind of source.
std::vector<std::string> backends_of(SourceKind source);
/// Names of the kernel backends in this build, in the order that `--backend auto` tries them.
std::vector<std::string> backend_names();
/// Whether a name stands for several backends: "auto", or "gpu" for those of GPUs.
bool is_choice(std::string_view name) noexcept;
/// The backends of this build that a choice or a name allows, in the order that they are tried. Throws as
/// require_backend.
std::vector<std::string> backends_for(std::string_view choice);
/// The kernel backend for a vendor's devices: "cuda" for "nvidia".
std::string backend_of_vendor(std::string_view vendor);

/// The names of a backend's compilers: {"hiprtc", "clang"}. Empty: it has only one.
std::vector<std::string> compilers_of(std::string_view backend);
/// The one of them whose fingerprint this is; empty for a backend with one compiler.
std::string compiler_of(std::string_view backend, std::string_view fingerprint);
/// Whether the compiler with this fingerprint gets files as they stand: others get them without host code.
bool takes_programs(std::string_view backend, std::string_view fingerprint);
/// Throws Error(invalid_argument) for the name of a compiler that this backend (of a choice: no backend) does not have.
/// Empty and "auto" are always accepted.
void require_compiler(std::string_view backend, const std::string& compiler);

/// A toolchain's fingerprint without its digests, for people: "nvrtc 13.0" of "nvrtc 13.0 65be0db342ad, parts ...".
std::string compiler_name(std::string_view fingerprint);

}  // namespace xtune::device
