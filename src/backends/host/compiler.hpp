// The system's C++ compiler, and its options.
#pragma once

#include <string>
#include <vector>

namespace xtune::host {

/// XTUNE_HOST_CXX, else g++, else clang++, searched in PATH. Throws Error(unavailable) with advice on what to install.
std::string find_compiler();

/// The architectures artifacts are compiled for, weakest first: x86_64, x86_64_v2, ... (x86-64 psABI,
/// "microarchitecture levels"), or aarch64.
const std::vector<std::string>& known_host_archs();
/// The architecture of this CPU.
std::string own_arch();
/// Whether code for `arch` runs on a CPU of architecture `own`.
bool runs_on(const std::string& arch, const std::string& own);
/// "-march=x86-64-v3". Throws Error(invalid_argument) for an architecture that is unknown or of another kind of
/// machine.
std::string arch_flag(const std::string& arch);

}  // namespace xtune::host
