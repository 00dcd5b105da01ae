// The layouts of ROCm 5 to 7, of CUDA and of Debian.
#include "core/build/compiler_places.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "system/files.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr int newest_clang = 40, oldest_clang = 17;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// The installations of ROCm.
std::vector<std::string> rocm_roots() {
  const std::string root = variable("ROCM_PATH");
  return root.empty() ? std::vector<std::string>{"/opt/rocm"} : std::vector<std::string>{root, "/opt/rocm"};
}

/// The ROCm of "/opt/rocm-6.0.0/llvm/bin/clang++" or "/opt/rocm-6.0.0/lib/llvm/bin/clang++"; empty for another
/// compiler.
fs::path rocm_of(const std::string& compiler) {
  std::error_code failed;
  const fs::path llvm = fs::weakly_canonical(compiler, failed).parent_path().parent_path();
  if (compiler.empty() || llvm.filename() != "llvm") return {};
  const fs::path root = llvm.parent_path();
  return root.filename() == "lib" ? root.parent_path() : root;
}

/// The major version in the name of clang's resource directory, "/usr/lib/llvm-19/lib/clang/19"; 0: unknown.
int version_of(const fs::path& resources) {
  const std::string name = resources.filename().string();
  int version = 0;
  std::from_chars(name.data(), name.data() + name.size(), version);
  return version;
}

template <class T>
void add_once(std::vector<T>& to, const T& value) {
  if (!value.empty() && std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
}

}  // namespace

std::vector<std::string> clang_compilers() {
  std::vector<std::string> found;
  for (int version = newest_clang; version >= oldest_clang; --version)
    add_once(found, system::find_program(fmt::format("clang++-{}", version)));
  add_once(found, system::find_program("clang++"));
  return found;
}

std::vector<fs::path> cuda_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) add_once(roots, fs::path(variable(name)));
  return roots;
}

std::vector<std::string> nvcc_compilers() {
  std::vector<std::string> found;
  for (const fs::path& root : cuda_roots()) add_once(found, system::find_program((root / "bin/nvcc").string()));
  add_once(found, system::find_program("/usr/local/cuda/bin/nvcc"));
  add_once(found, system::find_program("nvcc"));
  return found;
}

std::vector<std::string> hip_compilers() {
  std::vector<std::string> found;
  if (const std::string wanted = variable("XTUNE_HIP_CXX"); !wanted.empty()) {
    add_once(found, system::find_program(wanted));
    return found;
  }
  for (const std::string& root : rocm_roots())
    for (const char* place : {"/llvm/bin/amdclang++", "/bin/amdclang++"})
      add_once(found, system::find_program(root + place));
  add_once(found, system::find_program("amdclang++"));
  for (const std::string& clang : clang_compilers()) add_once(found, clang);
  for (const std::string& root : rocm_roots()) add_once(found, system::find_program(root + "/llvm/bin/clang++"));
  return found;
}

std::vector<fs::path> hip_roots(const std::string& compiler, const fs::path& system) {
  std::vector<fs::path> roots;
  for (const char* name : {"HIP_PATH", "ROCM_PATH"}) add_once(roots, fs::path(variable(name)));
  add_once(roots, rocm_of(compiler));
  add_once(roots, system / "usr");
  add_once(roots, system / "opt/rocm");
  return roots;
}

std::vector<fs::path> device_library_folders(const std::string& compiler, const fs::path& resources,
                                             const fs::path& system) {
  std::vector<fs::path> folders;
  add_once(folders, fs::path(variable("HIP_DEVICE_LIB_PATH")));
  std::vector<fs::path> roots;
  add_once(roots, fs::path(variable("ROCM_PATH")));
  add_once(roots, rocm_of(compiler));
  for (const fs::path& root : roots) add_once(folders, root / "amdgcn/bitcode");
  if (!resources.empty())
    for (const char* place : {"lib/amdgcn/bitcode", "amdgcn/bitcode"}) add_once(folders, resources / place);
  for (const char* place :
       {"usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "usr/lib/aarch64-linux-gnu/amdgcn/bitcode", "usr/lib/amdgcn/bitcode",
        "usr/lib64/amdgcn/bitcode", "usr/amdgcn/bitcode", "opt/rocm/amdgcn/bitcode"})
    add_once(folders, system / place);
  // Debian since 13: in the directory of the clang that they were made with. A clang reads bitcode of older ones.
  const int version = version_of(resources);
  for (int older = version > 0 ? version : newest_clang; older >= oldest_clang; --older)
    add_once(folders, system / fmt::format("usr/lib/llvm-{0}/lib/clang/{0}/amdgcn/bitcode", older));
  return folders;
}

}  // namespace xtune::build
