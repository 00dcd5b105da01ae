// Asks each compiler what it is, and searches the files that HIP needs beside it.
#include "backends/hip/clang_installation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "backends/compiler/ask_compiler.hpp"
#include "backends/compiler/identity.hpp"
#include "base/text.hpp"
#include "core/build/hip_places.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"

namespace xtune::hip {
namespace {

namespace fs = std::filesystem;

constexpr int oldest_version = 17;

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

/// Fills path, version and archs. The reason why this compiler cannot be used, or empty.
std::string examine(const std::string& compiler, ClangInstallation& clang) {
  try {
    clang.description = compiler::identify_compiler(compiler).version;
  } catch (const Error& error) {
    return error.what();
  }
  const auto [major, version] = clang_version(clang.description);
  if (major == 0) return fmt::format("{} is not clang: {}", compiler, clang.description);
  if (major < oldest_version)
    return fmt::format("{} is clang {}; needed is {} or newer", compiler, version, oldest_version);
  clang.archs = amd_archs_of(compiler);
  if (clang.archs.empty()) return fmt::format("{} was built without the AMDGPU target", compiler);
  // For a missing program clang prints the bare name.
  if (base::first_line(compiler::ask_compiler(compiler, {{"-print-prog-name=lld"}}).stdout_text).find('/') ==
      std::string::npos)
    return fmt::format("{} finds no lld: install it (Debian: lld-{})", compiler, major);
  clang.path = compiler;
  clang.version = version;
  return {};
}

/// "5.2.21153", from hip_version.h.
std::string version_of_headers(const fs::path& headers) {
  std::istringstream text(system::read_if_there(headers / "hip_version.h", 1 << 16));
  std::string version;
  for (const char* part : {"MAJOR", "MINOR", "PATCH"}) {
    const std::string start = fmt::format("#define HIP_VERSION_{} ", part);
    std::string line;
    while (std::getline(text, line))
      if (line.starts_with(start)) break;
    if (!line.starts_with(start)) return "unknown";
    version += (version.empty() ? "" : ".") + line.substr(start.size());
  }
  return base::printable(version, 40);
}

/// The directory of ocml.bc among the files that the compiler links on its own; empty: it finds none.
fs::path own_device_libraries(const std::string& compiler) {
  std::vector<std::string> question{"-###", "-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc"};
  if (const char* root = std::getenv("ROCM_PATH"); root && *root)
    question.push_back(fmt::format("--rocm-path={}", root));
  question.insert(question.end(), {"/dev/null", "-o", "/dev/null"});
  const system::CommandResult plan = compiler::ask_compiler(compiler, {question});
  if (!plan.ok()) return {};
  std::istringstream lines(plan.stderr_text);
  for (std::string line; std::getline(lines, line);)
    for (const std::string& word : system::shell_words(line))
      if (fs::path(word).filename() == "ocml.bc") return fs::path(word).parent_path();
  return {};
}

void find_device_libraries(ClangInstallation& clang, const fs::path& system) {
  std::vector<fs::path> folders{own_device_libraries(clang.path)};
  const fs::path resources =
      base::first_line(compiler::ask_compiler(clang.path, {{"-print-resource-dir"}}).stdout_text);
  const std::vector<fs::path> others = build::device_library_folders(clang.path, resources, system);
  folders.insert(folders.end(), others.begin(), others.end());
  for (const fs::path& folder : folders)
    if (!folder.empty() && is_file(folder / "ocml.bc") && is_file(folder / "ockl.bc")) {
      clang.device_libraries = folder;
      return;
    }
  throw system::NotInstalled(
      fmt::format("{} compiles for AMD GPUs, but AMD's device libraries (ocml.bc, ockl.bc) were not found: install "
                  "rocm-device-libs, or name their directory in HIP_DEVICE_LIB_PATH, or ROCm's in ROCM_PATH",
                  clang.path));
}

void find_headers(ClangInstallation& clang, const fs::path& system) {
  for (const fs::path& root : build::hip_roots(clang.path, system))
    if (is_file(root / "include/hip/hip_runtime.h")) {
      clang.hip_root = root;
      clang.hip_version = version_of_headers(clang.headers());
      // HIP 5.2; LLVM 17 has no such intrinsics.
      clang.needs_wrapping_atomics = system::read_if_there(clang.headers() / "amd_detail/amd_hip_atomic.h", 1 << 20)
                                         .find("llvm.amdgcn.atomic.inc") != std::string::npos;
      return;
    }
  throw system::NotInstalled(
      fmt::format("{} compiles for AMD GPUs, but HIP's headers (hip/hip_runtime.h) were not found: install them "
                  "(Debian: libamdhip64-dev; ROCm: hip-dev), or name the directory above their include in HIP_PATH",
                  clang.path));
}

void add_files_below(const fs::path& folder, const std::string& ending, build::ToolFiles& to) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file(failed) && entry.path().string().ends_with(ending) &&
        entry.path().parent_path().filename() != "nvidia_detail")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) build::add_tool_file(file, to);
}

}  // namespace

std::pair<int, std::string> clang_version(const std::string& first_line) {
  constexpr std::string_view words = "clang version ";
  const std::size_t at = first_line.find(words);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + words.size();
  const std::string version = first_line.substr(begin, first_line.find_first_not_of("0123456789.", begin) - begin);
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return {major, major == 0 ? "" : version};
}

std::vector<std::string> amd_archs_of(const std::string& compiler) {
  const system::CommandResult listed =
      compiler::ask_compiler(compiler, {{"--target=amdgcn-amd-amdhsa", "-nogpulib", "-print-supported-cpus"}});
  std::vector<std::string> archs;
  std::istringstream words(listed.stdout_text + listed.stderr_text);
  for (std::string word; words >> word;)
    if (listed.ok() && word.starts_with("gfx") && word.find("generic") == std::string::npos) archs.push_back(word);
  return archs;
}

ClangInstallation find_clang(const fs::path& system) {
  std::string reasons;
  for (const std::string& compiler : build::hip_compilers()) {
    ClangInstallation clang;
    const std::string reason = examine(compiler, clang);
    if (reason.empty()) {
      find_headers(clang, system);
      find_device_libraries(clang, system);
      return clang;
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  if (const char* wanted = std::getenv("XTUNE_HIP_CXX"); wanted && *wanted)
    throw system::NotInstalled(fmt::format(
        "XTUNE_HIP_CXX names '{}', {}: give the path of clang++ {} or newer, or unset it", base::printable(wanted, 200),
        reasons.empty() ? "which is not a program here" : "which cannot be used (" + reasons + ")", oldest_version));
  throw system::NotInstalled(
      fmt::format("no clang {} or newer for AMD GPUs was found: install one (Debian: clang-19 and lld-19; ROCm: "
                  "rocm-llvm), or name it in XTUNE_HIP_CXX{}",
                  oldest_version, reasons.empty() ? "" : " (" + reasons + ")"));
}

build::ToolFiles files_of(const ClangInstallation& clang) {
  build::ToolFiles files;
  add_files_below(clang.headers(), ".h", files);
  add_files_below(clang.device_libraries, ".bc", files);
  return files;
}

}  // namespace xtune::hip
