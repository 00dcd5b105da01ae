// Finds the system's compiler and the CPU's level.
#include "backends/host/compiler.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/find_program.hpp"
#include "base/not_installed.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "core/build/system_headers.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

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

Compiler identify_compiler(const std::string& path) {
  base::CommandOptions options;
  options.own_group = false;
  options.timeout_ms = 20000;
  const base::CommandResult result = base::run_command({path, "--version"}, options);
  if (!result.ok())
    throw Error(ErrorKind::unavailable, path + " --version failed (" +
                                            base::describe_exit(result.exit_code, result.signal) +
                                            "): " + base::printable(first_line(result.stderr_text), 200));
  const std::string version = base::printable(first_line(result.stdout_text), 200);
  return {path, version, version.find("clang") != std::string::npos};
}

std::vector<std::string> standard_folders(const std::string& compiler) {
  // Directories from environment variables belong to the user.
  base::CommandOptions options;
  options.own_group = false;
  options.timeout_ms = 20000;
  options.env = {{"LC_ALL", "C"}, {"CPATH", ""}, {"CPLUS_INCLUDE_PATH", ""}, {"C_INCLUDE_PATH", ""}};
  const base::CommandResult result = base::run_command({compiler, "-E", "-x", "c++", "-v", "/dev/null"}, options);
  std::vector<std::string> folders;
  const std::string& text = result.stderr_text;
  std::size_t at = text.find("#include <...> search starts here:\n");
  while (result.ok() && (at = text.find('\n', at)) != std::string::npos && text.compare(at, 2, "\n ") == 0) {
    const std::size_t end = std::min(text.find('\n', at + 2), text.size());
    std::filesystem::path folder = text.substr(at + 2, end - at - 2);
    folders.push_back(folder.string());
    // The directory next to Clang's headers has the lists that its sanitizers read.
    if (folder.filename() == "include") folders.push_back((folder.parent_path() / "share").string());
    at = end;
  }
  return folders;
}

std::vector<std::string> compiler_folders(const std::string& compiler) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders = standard_folders(compiler);
  std::error_code failed;
  std::erase_if(folders, [&](const std::string& folder) {
    const auto& shared = build::shared_header_folders();
    return std::any_of(shared.begin(), shared.end(), [&, path = fs::weakly_canonical(folder, failed)](const auto& s) {
      return path == fs::weakly_canonical(s, failed);
    });
  });
  return folders;
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

std::string runtime_library(const std::string& compiler, const std::string& name) {
  base::CommandOptions options;
  options.own_group = false;
  options.timeout_ms = 20000;
  const base::CommandResult result = base::run_command({compiler, "-print-file-name=" + name}, options);
  std::error_code failed;
  // For a missing library the compiler prints the bare name.
  const std::filesystem::path path = first_line(result.stdout_text);
  if (!result.ok() || !path.is_absolute() || !std::filesystem::exists(path, failed)) return "";
  const auto real = std::filesystem::canonical(path, failed);
  return failed ? "" : real.string();
}

}  // namespace xtune::host
