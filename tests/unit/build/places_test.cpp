// Where CUDA is searched, in trees with the layouts of toolkits, wheels and conda's packages.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/build/compiler_places.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"

using namespace xtune;
using namespace xtune::build;

namespace {

namespace fs = std::filesystem;

/// Files without contents, below a directory in the place of the root, and no variable that names an installation.
class Tree {
 public:
  void add(const std::string& file) const {
    fs::create_directories((root_.path() / file).parent_path());
    std::ofstream(root_.path() / file) << "";
  }
  std::string path(const std::string& name) const { return (root_.path() / name).string(); }

  /// Where the first of these directories with one of these names is, below the root.
  std::string first(const std::vector<fs::path>& folders, const std::vector<std::string>& names) const {
    for (const fs::path& folder : folders)
      for (const std::string& name : names)
        if (!folder.empty() && fs::exists(folder / name))
          return (folder / name).lexically_relative(root_.path()).string();
    return "";
  }
  std::string nvrtc() const { return first(cuda_library_folders(root_.path()), nvrtc_names()); }
  std::string headers() const { return first(cuda_roots(root_.path()), {"include/cuda_fp16.h"}); }

 private:
  system::TemporaryDirectory root_;
  Variable home_{"CUDA_HOME", {}}, cuda_{"CUDA_PATH", {}}, python_{"XTUNE_PYTHON_PACKAGES", {}},
      environment_{"VIRTUAL_ENV", {}}, conda_{"CONDA_PREFIX", {}};
};

}  // namespace

TEST_CASE("NVRTC is found in toolkits, the usual one first, then the newest release") {
  const Tree tree;
  CHECK(tree.nvrtc().empty());
  for (const char* release : {"12.9", "13.10", "13.5"})
    tree.add(std::string("usr/local/cuda-") + release + "/lib64/libnvrtc.so");
  CHECK(tree.nvrtc() == "usr/local/cuda-13.10/lib64/libnvrtc.so");
  tree.add("usr/local/cuda/lib64/libnvrtc.so.12");
  CHECK(tree.nvrtc() == "usr/local/cuda/lib64/libnvrtc.so.12");
  tree.add("mine/lib/libnvrtc.so.13");
  const Variable home("CUDA_HOME", tree.path("mine"));
  CHECK(tree.nvrtc() == "mine/lib/libnvrtc.so.13");
}

TEST_CASE("NVRTC is found in NVIDIA's wheels of CUDA 12 and 13, with the headers of theirs") {
  const Tree tree;
  const Variable active("VIRTUAL_ENV", tree.path("venv"));
  const std::string packages = "venv/lib/python3.12/site-packages/nvidia/";
  tree.add(packages + "cuda_nvrtc/lib/libnvrtc.so.12");
  CHECK(tree.nvrtc() == packages + "cuda_nvrtc/lib/libnvrtc.so.12");
  tree.add(packages + "cu13/lib/libnvrtc.so.13");
  tree.add(packages + "cu13/include/cuda_fp16.h");
  CHECK(tree.nvrtc() == packages + "cu13/lib/libnvrtc.so.13");
  CHECK(tree.headers() == packages + "cu13/include/cuda_fp16.h");
  // Without an active environment: those of the running Python.
  tree.add("python/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const Variable running("XTUNE_PYTHON_PACKAGES", "/no/such:" + tree.path("python/site-packages"));
  CHECK(tree.nvrtc() == "python/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
}

TEST_CASE("NVRTC and headers are found in a conda environment") {
  const Tree tree;
  const Variable active("CONDA_PREFIX", tree.path("conda"));
  tree.add("conda/targets/x86_64-linux/lib/libnvrtc.so.12");
  tree.add("conda/targets/x86_64-linux/include/cuda_fp16.h");
  CHECK(tree.nvrtc() == "conda/targets/x86_64-linux/lib/libnvrtc.so.12");
  CHECK(tree.headers() == "conda/targets/x86_64-linux/include/cuda_fp16.h");
  tree.add("conda/lib/libnvrtc.so.12");
  CHECK(tree.nvrtc() == "conda/lib/libnvrtc.so.12");
}

TEST_CASE("the loader comes after the named toolkits, and after the ROCm of environments") {
  const Tree tree;
  const Variable home("CUDA_HOME", tree.path("mine")), active("VIRTUAL_ENV", tree.path("venv"));
  tree.add("venv/lib/python3.12/site-packages/none");
  const auto place = [](const std::vector<fs::path>& folders) {
    return std::find(folders.begin(), folders.end(), fs::path()) - folders.begin();
  };
  CHECK(place(cuda_library_folders()) == 2);
  const std::vector<fs::path> rocm = rocm_library_folders(tree.path(""));
  REQUIRE(place(rocm) > 1);
  CHECK(rocm[static_cast<std::size_t>(place(rocm) - 2)].parent_path().filename() == "_rocm_sdk_core");
  CHECK(rocm[static_cast<std::size_t>(place(rocm) + 1)] == fs::path(tree.path("opt/rocm/lib")));
}
