// Layouts. ROCm until 7.2: ROCm documentation, "Linux Folder Structure Reorganization"; since 7.14,
// /opt/rocm/core-10.0: "Transition guide from legacy ROCm release stream" of ROCm 10.0, where a minimal installation
// has no links in /opt/rocm (JuliaGPU/AMDGPU.jl, pull request 1000), and device libraries in lib/llvm/amdgcn/bitcode
// (ROCm/TheRock, issue 3213). Its wheels: "ROCm Python Packaging via TheRock" and rocm_sdk/_dist_info.py there; they
// have only files named as libamdhip64.so.7. NVIDIA's wheels: nvidia-cuda-nvrtc-cu12 12.9.86, nvidia-cuda-nvrtc 13.0.88
// and 13.5.37, unpacked. conda-forge's packages: conda-forge/staged-recipes, pull request 21723.
#include "core/build/compiler_places.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/text.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr int newest_clang = 40, oldest_clang = 17;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> listed(const char* name) {
  std::vector<std::string> words = base::split(variable(name), ':');
  std::erase(words, "");
  return words;
}

template <class T>
void add_once(std::vector<T>& to, const T& value) {
  if (!value.empty() && std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
}

/// In `parent`, the names that are `start` and a version, the newest first.
std::vector<fs::path> releases_in(const fs::path& parent, const std::string& start) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.find_first_of("0123456789", start.size()) == start.size())
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return strverscmp(a.c_str(), b.c_str()) > 0; });
  return found;
}

/// The directories of packages of the running Python and of active environments.
std::vector<fs::path> python_packages() {
  std::vector<fs::path> folders;
  for (const std::string& folder : listed("XTUNE_PYTHON_PACKAGES")) add_once(folders, fs::path(folder));
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = variable(name); !prefix.empty())
      for (const fs::path& python : releases_in(fs::path(prefix) / "lib", "python"))
        add_once(folders, python / "site-packages");
  return folders;
}

/// Those that variables name. Modules of clusters set ROCM_PATH, LD_LIBRARY_PATH or both.
std::vector<fs::path> named_rocm() {
  std::vector<fs::path> roots;
  for (const char* name : {"ROCM_PATH", "HIP_PATH"}) add_once(roots, fs::path(variable(name)));
  for (const fs::path folder : listed("LD_LIBRARY_PATH"))
    if (folder.filename() == "lib") add_once(roots, folder.parent_path());
  return roots;
}

std::vector<fs::path> rocm_of_environments() {
  std::vector<fs::path> roots;
  for (const fs::path& packages : python_packages())
    for (const char* name : {"_rocm_sdk_core", "_rocm_sdk_devel"}) add_once(roots, packages / name);
  add_once(roots, fs::path(variable("CONDA_PREFIX")));
  return roots;
}

std::vector<fs::path> installed_rocm(const fs::path& system) {
  std::vector<fs::path> roots{system / "opt/rocm", system / "opt/rocm/core"};
  for (const fs::path& root : releases_in(system / "opt/rocm", "core-")) roots.push_back(root);
  for (const fs::path& root : releases_in(system / "opt", "rocm-")) roots.push_back(root);
  return roots;
}

/// Besides those that variables name, the usual one first.
std::vector<fs::path> other_cuda(const fs::path& system) {
  std::vector<fs::path> roots{system / "usr/local/cuda"};
  for (const fs::path& packages : python_packages()) {
    for (const fs::path& root : releases_in(packages / "nvidia", "cu")) add_once(roots, root);
    add_once(roots, packages / "nvidia/cuda_nvrtc");
  }
  if (const fs::path conda = variable("CONDA_PREFIX"); !conda.empty())
    for (const fs::path& root : {conda, conda / "targets/x86_64-linux", conda / "targets/sbsa-linux"})
      add_once(roots, root);
  for (const fs::path& root : releases_in(system / "usr/local", "cuda-")) roots.push_back(root);
  return roots;
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

}  // namespace

std::vector<std::string> clang_compilers() {
  std::vector<std::string> found;
  for (int version = newest_clang; version >= oldest_clang; --version)
    add_once(found, system::find_program(fmt::format("clang++-{}", version)));
  add_once(found, system::find_program("clang++"));
  return found;
}

std::string zig_compiler() {
  for (const fs::path& packages : python_packages())
    if (!system::find_program((packages / "ziglang/zig").string()).empty())
      if (std::string found = system::find_program((packages / "xtune/zig-c++").string()); !found.empty()) return found;
  return {};
}

std::vector<fs::path> named_cuda_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) add_once(roots, fs::path(variable(name)));
  return roots;
}

std::vector<fs::path> cuda_roots(const fs::path& system) {
  std::vector<fs::path> roots = named_cuda_roots();
  for (const fs::path& root : other_cuda(system)) add_once(roots, root);
  return roots;
}

std::vector<fs::path> cuda_library_folders(const fs::path& system) {
  std::vector<fs::path> folders;
  const auto add = [&](const std::vector<fs::path>& roots) {
    for (const fs::path& root : roots)
      for (const char* name : {"lib64", "lib"}) add_once(folders, root / name);
  };
  add(named_cuda_roots());
  folders.emplace_back();
  add(other_cuda(system));
  return folders;
}

std::vector<fs::path> rocm_roots(const fs::path& system) {
  std::vector<fs::path> roots;
  for (const std::vector<fs::path>& group : {named_rocm(), rocm_of_environments(), installed_rocm(system)})
    for (const fs::path& root : group) add_once(roots, root);
  return roots;
}

std::vector<fs::path> rocm_library_folders(const fs::path& system) {
  std::vector<fs::path> folders;
  const auto add = [&](const std::vector<fs::path>& roots) {
    for (const fs::path& root : roots) add_once(folders, root / "lib");
  };
  add(named_rocm());
  add(rocm_of_environments());
  folders.emplace_back();
  add(installed_rocm(system));
  return folders;
}

std::vector<std::string> rocm_library_names(const std::string& stem) {
  std::vector<std::string> names;
  for (const char* version : {"", ".8", ".7", ".6", ".5"}) names.push_back("lib" + stem + ".so" + version);
  return names;
}

std::vector<std::string> nvrtc_names() {
  return {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
}

fs::path folder_with(const std::string& what, const std::vector<fs::path>& folders,
                     const std::vector<std::string>& files) {
  system::Search search{what, {}, {}};
  fs::path found;
  for (const fs::path& folder : folders) {
    if (folder.empty()) continue;
    std::error_code failed;
    const auto has = [&](const std::string& file) { return fs::is_regular_file(folder / file, failed); };
    if (std::all_of(files.begin(), files.end(), has)) {
      search.taken = (folder / files.front()).string();
      found = folder;
      break;
    }
    system::add_missing(folder.string(), search);
  }
  system::remember(search);
  return found;
}

std::vector<std::string> nvcc_compilers() {
  std::vector<std::string> found;
  const auto add_of = [&](const fs::path& root) {
    add_once(found, system::find_program((root / "bin/nvcc").string()));
  };
  const std::vector<fs::path> others = other_cuda("/");
  for (const fs::path& root : named_cuda_roots()) add_of(root);
  add_of(others.front());
  add_once(found, system::find_program("nvcc"));
  for (const fs::path& root : others) add_of(root);
  return found;
}

std::vector<std::string> hip_compilers(const fs::path& system) {
  std::vector<std::string> found;
  if (const std::string wanted = variable("XTUNE_HIP_CXX"); !wanted.empty()) {
    add_once(found, system::find_program(wanted));
    return found;
  }
  const std::vector<fs::path> roots = rocm_roots(system);
  for (const fs::path& root : roots)
    for (const char* place : {"llvm/bin/amdclang++", "lib/llvm/bin/amdclang++", "bin/amdclang++"})
      add_once(found, system::find_program((root / place).string()));
  add_once(found, system::find_program("amdclang++"));
  for (const std::string& clang : clang_compilers()) add_once(found, clang);
  for (const fs::path& root : roots)
    for (const char* place : {"llvm/bin/clang++", "lib/llvm/bin/clang++"})
      add_once(found, system::find_program((root / place).string()));
  return found;
}

std::vector<fs::path> hip_roots(const std::string& compiler, const fs::path& system) {
  std::vector<fs::path> roots;
  add_once(roots, fs::path(variable("HIP_PATH")));
  for (const fs::path& root : named_rocm()) add_once(roots, root);
  add_once(roots, rocm_of(compiler));
  add_once(roots, system / "usr");
  for (const fs::path& root : rocm_roots(system)) add_once(roots, root);
  return roots;
}

std::vector<fs::path> device_library_folders(const std::string& compiler, const fs::path& resources,
                                             const fs::path& system) {
  std::vector<fs::path> folders;
  const auto add_of = [&](const fs::path& root) {
    if (root.empty()) return;
    for (const char* place : {"amdgcn/bitcode", "lib/llvm/amdgcn/bitcode"}) add_once(folders, root / place);
  };
  add_once(folders, fs::path(variable("HIP_DEVICE_LIB_PATH")));
  for (const fs::path& root : named_rocm()) add_of(root);
  add_of(rocm_of(compiler));
  if (!resources.empty())
    for (const char* place : {"lib/amdgcn/bitcode", "amdgcn/bitcode"}) add_once(folders, resources / place);
  for (const char* place : {"usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "usr/lib/aarch64-linux-gnu/amdgcn/bitcode",
                            "usr/lib/amdgcn/bitcode", "usr/lib64/amdgcn/bitcode", "usr/amdgcn/bitcode"})
    add_once(folders, system / place);
  // Those of the environments may be of a newer LLVM than the compiler.
  for (const fs::path& root : rocm_roots(system)) add_of(root);
  // Debian since 13: in the directory of the clang that they were made with. A clang reads bitcode of older ones.
  const int version = version_of(resources);
  for (int older = version > 0 ? version : newest_clang; older >= oldest_clang; --older)
    add_once(folders, system / fmt::format("usr/lib/llvm-{0}/lib/clang/{0}/amdgcn/bitcode", older));
  return folders;
}

}  // namespace xtune::build
