// The system's C++ compiler: which one it is and what it is told.
#pragma once

#include <string>
#include <vector>

namespace xtune::host {

struct Compiler {
  std::string path;     ///< absolute
  std::string version;  ///< first line of --version
  bool is_clang = false;
};

/// XTUNE_HOST_CXX, else g++, else clang++, looked up in PATH. Throws Error(unavailable) saying what to install.
std::string find_compiler();
/// Runs it once. Throws Error(unavailable) when it does not run.
Compiler identify_compiler(const std::string& path);

/// Folders whose headers come with the compiler or the system, as it lists them; empty where it does not.
std::vector<std::string> standard_folders(const std::string& compiler);

/// The same but for the folders in which anybody's headers lie (core/build/system_headers.hpp).
std::vector<std::string> compiler_folders(const std::string& compiler);

/// The architectures artifacts are compiled for, weakest first: x86_64, x86_64_v2, ... (x86-64 psABI,
/// "microarchitecture levels"), or aarch64.
const std::vector<std::string>& known_host_archs();
/// What this CPU is.
std::string own_arch();
/// Whether code for `arch` runs on a CPU that is `own`.
bool runs_on(const std::string& arch, const std::string& own);
/// "-march=x86-64-v3". Throws Error(invalid_argument) for an architecture that is not known or not this machine's kind.
std::string arch_flag(const std::string& arch);

/// Where the compiler keeps a run-time library, or empty: "libasan.so".
std::string runtime_library(const std::string& compiler, const std::string& name);

}  // namespace xtune::host
