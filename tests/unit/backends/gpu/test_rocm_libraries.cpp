// Which of several releases' libraries are opened, with empty libraries in their place.
#include <doctest/doctest.h>

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

/// A copy of the library, as `name` in the directory's lib. Its path.
std::string add_library(const TemporaryDirectory& rocm, const std::string& name) {
  fs::create_directories(rocm.path() / "lib");
  const fs::path path = rocm.path() / "lib" / name;
  fs::copy_file(XTUNE_FAKE_HIP_RUNTIME, path);
  return path.string();
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
