// Which of several releases' libraries are opened, with empty libraries in their place.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fakes/environment_variable.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"

#if XTUNE_HAS_HIP && !XTUNE_HIP_NVIDIA

#include "backends/hip/rocm_libraries.hpp"

using namespace xtune;
using namespace xtune::system;

namespace {

namespace fs = std::filesystem;

/// A copy of the library, as `name` in the directory. Its path.
std::string add_library(const fs::path& folder, const std::string& name) {
  fs::create_directories(folder);
  fs::copy_file(XTUNE_FAKE_HIP_RUNTIME, folder / name);
  return (folder / name).string();
}
std::string add_library(const TemporaryDirectory& rocm, const std::string& name) {
  return add_library(rocm.path() / "lib", name);
}

std::string opened(const std::vector<std::string>& stems) { return hip::open_rocm_library(stems).name(); }

}  // namespace

TEST_CASE("a library that the user names comes first, then the one without a version, then the newest release") {
  const TemporaryDirectory rocm, hip;
  const Variable root("ROCM_PATH", rocm.path().string()), other("HIP_PATH", hip.path().string());
  CHECK_THROWS_AS(opened({"xtune_no_such"}), NotInstalled);
  const std::string second = add_library(hip, "libxtune_stem.so.7");
  CHECK(opened({"xtune_stem"}) == second);
  const std::string five = add_library(rocm, "libxtune_stem.so.5");
  CHECK(opened({"xtune_stem"}) == five);
  const std::string six = add_library(rocm, "libxtune_stem.so.6");
  CHECK(opened({"xtune_stem"}) == six);
  const std::string chosen = add_library(rocm, "libxtune_stem.so");
  CHECK(opened({"xtune_stem"}) == chosen);
  CHECK(opened({"xtune_no_such", "xtune_stem"}) == chosen);
}

/// No variable names an installation.
struct NoVariables {
  Variable rocm{"ROCM_PATH", {}}, hip{"HIP_PATH", {}}, loader{"LD_LIBRARY_PATH", {}},
      python{"XTUNE_PYTHON_PACKAGES", {}}, environment{"VIRTUAL_ENV", {}}, conda{"CONDA_PREFIX", {}};
};

TEST_CASE("each layout of ROCm is found, the newest release first") {
  const NoVariables variables;
  const TemporaryDirectory system;
  const auto found = [&] { return hip::open_rocm_library({"xtune_layout"}, system.path()).name(); };
  const auto add = [&](const char* folder, const char* name) { return add_library(system.path() / folder, name); };
  CHECK_THROWS_AS(found(), NotInstalled);
  // ROCm until 7.2 without /opt/rocm, which is a link; a runtime has only the file with its major version.
  const std::string old = add("opt/rocm-5.7.1/lib", "libxtune_layout.so.5");
  CHECK(found() == old);
  const std::string nine = add("opt/rocm-6.9.0/lib", "libxtune_layout.so.6");
  CHECK(found() == nine);
  const std::string ten = add("opt/rocm-6.10.0/lib", "libxtune_layout.so.6");
  CHECK(found() == ten);
  // A minimal ROCm 7.14 and 10 has no links in /opt/rocm.
  const std::string core = add("opt/rocm/core-7.14/lib", "libxtune_layout.so.7");
  CHECK(found() == core);
  const std::string newer = add("opt/rocm/core-10.0/lib", "libxtune_layout.so.8");
  CHECK(found() == newer);
  const std::string linked = add("opt/rocm/lib", "libxtune_layout.so.7");
  CHECK(found() == linked);
}

TEST_CASE("AMD's wheels are found in the running Python, a virtual environment and a conda environment") {
  const NoVariables variables;
  const TemporaryDirectory conda, environment, packages, module, system;
  const auto found = [&] { return hip::open_rocm_library({"xtune_wheel"}, system.path()).name(); };
  add_library(system.path() / "opt/rocm/lib", "libxtune_wheel.so");
  const std::string in_conda = add_library(conda, "libxtune_wheel.so.6");
  const std::string in_environment =
      add_library(environment.path() / "lib/python3.12/site-packages/_rocm_sdk_core/lib", "libxtune_wheel.so.7");
  const std::string in_packages = add_library(packages.path() / "_rocm_sdk_core/lib", "libxtune_wheel.so.8");
  const std::string in_module = add_library(module, "libxtune_wheel.so.6");
  const Variable base("CONDA_PREFIX", conda.path().string());
  CHECK(found() == in_conda);
  const Variable active("VIRTUAL_ENV", environment.path().string());
  CHECK(found() == in_environment);
  const Variable running("XTUNE_PYTHON_PACKAGES", packages.path().string());
  CHECK(found() == in_packages);
  const Variable loaded("LD_LIBRARY_PATH", "/no/such:" + (module.path() / "lib").string());
  CHECK(found() == in_module);
}

TEST_CASE("a search is remembered with each place and the file that was taken") {
  const NoVariables variables;
  const TemporaryDirectory rocm, system;
  const Variable root("ROCM_PATH", rocm.path().string());
  fs::create_directories(rocm.path() / "lib");
  const std::string broken = (rocm.path() / "lib/libxtune_kept.so.7").string();
  std::ofstream(broken) << "no library";
  const std::string taken = add_library(system.path() / "opt/rocm/lib", "libxtune_kept.so");
  hip::open_rocm_library({"xtune_kept"}, system.path());
  const std::vector<Search> all = searches();
  const auto search =
      std::find_if(all.begin(), all.end(), [](const Search& each) { return each.what == "libxtune_kept.so"; });
  REQUIRE(search != all.end());
  CHECK(search->taken == taken);
  // A runtime that another test has loaded adds its directory.
  const auto reason_of = [&](const std::string& path) -> std::string {
    for (const Search::Place& place : search->places)
      if (place.path == path) return place.reason.empty() ? "none there" : place.reason;
    return "not searched";
  };
  CHECK(reason_of((rocm.path() / "lib").string()) == "none there");
  CHECK(reason_of(broken) == "file too short");
  CHECK(reason_of("") == "none there");
  CHECK(reason_of((system.path() / "opt/rocm/lib").string()) == "not searched");
}

TEST_CASE("the release that the application has loaded is used, whatever else is installed") {
  const TemporaryDirectory application, rocm;
  const Variable root("ROCM_PATH", rocm.path().string());
  add_library(rocm, "libhiprtc.so");
  add_library(rocm, "libamdhip64.so");
  const std::string runtime = add_library(application, "libamdhip64.so.7");
  const std::string compiler = add_library(application, "libhiprtc.so.7");
  const DynamicLibrary loaded = DynamicLibrary::open({runtime});
  CHECK(opened({"amdhip64"}) == runtime);
  CHECK(opened({"hiprtc", "amdhip64"}) == compiler);
}

TEST_CASE("PyTorch's own ROCm, whose files have no version, is used where it is loaded") {
  const TemporaryDirectory torch, rocm;
  const Variable root("ROCM_PATH", rocm.path().string());
  add_library(rocm, "libhiprtc.so.7");
  add_library(rocm, "libamdhip64.so.7");
  const std::string runtime = add_library(torch, "libamdhip64.so");
  const std::string compiler = add_library(torch, "libhiprtc.so");
  const std::string manager = add_library(torch, "libamd_comgr.so");
  const DynamicLibrary loaded = DynamicLibrary::open({runtime});
  CHECK(opened({"amdhip64"}) == runtime);
  CHECK(opened({"hiprtc", "amdhip64"}) == compiler);
  CHECK(hip::CodeObjectManager(compiler).library.name() == manager);
}

TEST_CASE("the code object manager is the one that hipRTC names") {
  using namespace std::string_literals;
  CHECK(hip::code_object_manager_names("\x7f"
                                       "ELF\0libamd_comgr.so.2\0libc.so.6\0"s) ==
        std::vector<std::string>{"libamd_comgr.so.2"});
  CHECK(hip::code_object_manager_names("libamd_comgr.so.3\0amd_comgr_2.0\0libamd_comgr.so.3\0libamd_comgr.so.12"s) ==
        std::vector<std::string>{"libamd_comgr.so.3", "libamd_comgr.so.12"});
  CHECK(hip::code_object_manager_names("libamd_comgr.so\0libamd_comgr.so."s).empty());
  CHECK(hip::code_object_manager_names("").empty());
}

TEST_CASE("the code object manager beside hipRTC is found where the loader does not search") {
  const TemporaryDirectory rocm;
  const std::string hiprtc = (rocm.path() / "lib" / "libhiprtc.so.7").string();
  const std::string manager = add_library(rocm, "libamd_comgr.so.99");
  std::ofstream(hiprtc) << std::string("libamd_comgr.so.99\0", 19);
  CHECK(hip::CodeObjectManager(hiprtc).library.name() == manager);
}

#endif
