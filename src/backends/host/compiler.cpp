// Finds the system's compiler and the CPU's level.
#include "backends/host/compiler.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/find_program.hpp"
#include "base/not_installed.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::host {

std::string find_compiler() {
  if (const char* wanted = std::getenv("XTUNE_HOST_CXX"); wanted && *wanted) {
    std::string found = base::find_program(wanted);
    if (found.empty())
      throw base::NotInstalled(std::string("XTUNE_HOST_CXX names '") + wanted +
                               "', which is not a program here: give the path of g++ or clang++, or unset it");
    return found;
  }
  for (const char* name : {"g++", "clang++"})
    if (std::string found = base::find_program(name); !found.empty()) return found;
  throw base::NotInstalled(
      "neither g++ nor clang++ is in PATH: the host backend compiles kernels with them; install one, or name "
      "one in XTUNE_HOST_CXX");
}

const std::vector<std::string>& known_host_archs() {
#if defined(__x86_64__)
  static const std::vector<std::string> archs = {"x86_64", "x86_64_v2", "x86_64_v3", "x86_64_v4"};
#else
  static const std::vector<std::string> archs = {"aarch64"};
#endif
  return archs;
}

std::string own_arch() {
#if defined(__x86_64__)
  // g++ 12 has names for the levels themselves, but clang++ 14 does not.
  const auto all = [](auto... has) { return (... && has); };
  if (!all(__builtin_cpu_supports("sse3"), __builtin_cpu_supports("ssse3"), __builtin_cpu_supports("sse4.1"),
           __builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("popcnt")))
    return "x86_64";
  if (!all(__builtin_cpu_supports("avx"), __builtin_cpu_supports("avx2"), __builtin_cpu_supports("bmi"),
           __builtin_cpu_supports("bmi2"), __builtin_cpu_supports("fma")))
    return "x86_64_v2";
  if (!all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512cd"),
           __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl")))
    return "x86_64_v3";
  return "x86_64_v4";
#else
  return "aarch64";
#endif
}

bool runs_on(const std::string& arch, const std::string& own) {
  const auto& known = known_host_archs();
  const auto needed = std::find(known.begin(), known.end(), arch);
  return needed != known.end() && needed <= std::find(known.begin(), known.end(), own);
}

std::string arch_flag(const std::string& arch) {
  const auto& known = known_host_archs();
  if (std::find(known.begin(), known.end(), arch) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::invalid_argument, "the host backend does not compile for '" + base::printable(arch, 80) +
                                                 "'" + base::did_you_mean(arch, known) + "; here it knows " + names);
  }
  std::string level = arch;
  if (level == "aarch64") return "-march=armv8-a";
  std::replace(level.begin(), level.end(), '_', '-');
  return "-march=x86-64" + level.substr(6);
}

}  // namespace xtune::host
