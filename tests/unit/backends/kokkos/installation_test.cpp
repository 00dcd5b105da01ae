// Finding Kokkos with CMake, shown with a package that only looks like one.
#include "backends/kokkos/installation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fakes/environment_variable.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;

using namespace xtune;
namespace fs = std::filesystem;

namespace {

/// A separate store and a directory for packages; the machine's Kokkos is not used.
struct Scene {
  TemporaryDirectory folder;
  Variable cache{"XTUNE_CACHE_DIR", (folder.path() / "cache").string()};
  Variable root{"Kokkos_ROOT", (folder.path() / "kokkos").string()};
  Variable prefix{"CMAKE_PREFIX_PATH", std::nullopt}, compiler{"XTUNE_KOKKOS_CXX", std::nullopt};

  void write(const std::string& name, const std::string& text) const {
    const fs::path path = folder.path() / "kokkos" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// As an installed Kokkos lays its files out.
  void install(int version, const std::string& devices, const std::string& more = "") const {
    write("lib/cmake/Kokkos/KokkosConfigVersion.cmake",
          "set(PACKAGE_VERSION 1.2)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n");
    write("lib/cmake/Kokkos/KokkosConfig.cmake",
          "SET(Kokkos_DEVICES " + devices + ")\n" + more +
              "add_library(Kokkos::kokkos INTERFACE IMPORTED)\n"
              "set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_COMPILE_OPTIONS -DOF_KOKKOS=1\n"
              "  INTERFACE_INCLUDE_DIRECTORIES \"${CMAKE_CURRENT_LIST_DIR}/../../../include\"\n"
              "  INTERFACE_LINK_OPTIONS -Wl,-O1)\n");
    write("include/Kokkos_Core.hpp", "#define OF_CORE\n");
    write("include/KokkosCore_config.h", "#define KOKKOS_VERSION " + std::to_string(version) + "\n");
  }
};

bool has(const std::vector<std::string>& flags, const std::string& flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::string failure() {
  try {
    kokkos::find_installation();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A Kokkos reports its version, devices and flags; the answer is kept until it changes") {
  const Scene scene;
  scene.install(40601, "OPENMP;SERIAL");
  const kokkos::Installation first = kokkos::find_installation();
  CHECK(first.version == "4.6.1");  // from the header, not from the package's own version
  CHECK(first.devices == std::vector<std::string>{"OPENMP", "SERIAL"});
  CHECK(has(first.flags.compile, "-DOF_KOKKOS=1"));
  CHECK(has(first.flags.compile, "-fPIC"));
  CHECK(has(first.flags.link, "-Wl,-O1"));
  CHECK(fs::path(first.compiler).is_absolute());

  SUBCASE("The same without CMake") {
    const auto kept = fs::directory_iterator(scene.folder.path() / "cache/kokkos")->path();
    const std::string text = read_file(kept);
    std::ofstream(kept) << std::string(text).replace(text.find("4.6.1"), 5, "4.6.x");
    CHECK(kokkos::find_installation().version == "4.6.x");
  }
  SUBCASE("A damaged answer is asked for again") {
    const auto kept = fs::directory_iterator(scene.folder.path() / "cache/kokkos")->path();
    std::ofstream(kept) << "{\"version\": 3";
    CHECK(kokkos::find_installation().version == "4.6.1");
  }
  SUBCASE("Another package") {
    scene.install(40702, "SERIAL");
    const kokkos::Installation second = kokkos::find_installation();
    CHECK(second.version == "4.7.2");
    CHECK(second.devices == std::vector<std::string>{"SERIAL"});
    CHECK(second.headers_digest != first.headers_digest);
  }
  SUBCASE("A package without the definition counts by its own number") {
    scene.write("include/KokkosCore_config.h", "// nothing\n");
    scene.write("lib/cmake/Kokkos/KokkosConfigVersion.cmake",
                "set(PACKAGE_VERSION 5.1.03)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n");
    const kokkos::Installation second = kokkos::find_installation();
    CHECK(second.version == "5.1.3");
    CHECK(second.version_number == 50103);
  }
  SUBCASE("A header that was edited in place") {
    scene.write("include/impl/Kokkos_Something.hpp", "int edited;\n");
    CHECK(kokkos::find_installation().headers_digest != first.headers_digest);
  }
}

TEST_CASE("Kokkos_ROOT may be relative to where the command is given") {
  const Scene scene;
  scene.install(40601, "SERIAL");
  const fs::path before = fs::current_path();
  fs::current_path(scene.folder.path());
  const Variable root("Kokkos_ROOT", "kokkos");
  const std::string version = kokkos::find_installation().version;
  fs::current_path(before);
  CHECK(version == "4.6.1");
}

TEST_CASE("A package whose target names a missing directory is used with the one in its variable") {
  const Scene scene;
  scene.install(30401, "SERIAL");
  scene.write("lib/cmake/Kokkos/KokkosConfig.cmake",
              "SET(Kokkos_DEVICES SERIAL)\n"
              "set(Kokkos_INCLUDE_DIRS \"${CMAKE_CURRENT_LIST_DIR}/../../../include\")\n"
              "add_library(Kokkos::kokkos INTERFACE IMPORTED)\n"
              "set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES /nonexistent/include)\n");
  const kokkos::Installation kokkos = kokkos::find_installation();
  CHECK(kokkos.version == "3.4.1");
  CHECK(has(kokkos.flags.compile, (scene.folder.path() / "kokkos/include").string()));
}

TEST_CASE("A Kokkos for GPUs is used with the compiler that it was built with") {
  const Scene scene;
  const fs::path wrapper = scene.folder.path() / "kokkos/bin/nvcc_wrapper";
  scene.install(40600, "CUDA;SERIAL",
                "SET(Kokkos_CXX_COMPILER \"/gone/nvcc_wrapper\")\nSET(Kokkos_CXX_COMPILER_ID \"NVIDIA\")\n");
  CHECK(failure().find("/gone/nvcc_wrapper, which is not here: XTUNE_KOKKOS_CXX names") != std::string::npos);
  scene.write("bin/nvcc_wrapper", "#!/bin/sh\nexec g++ \"$@\"\n");
  fs::permissions(wrapper, fs::perms::owner_all);
  CHECK(kokkos::find_installation().compiler == wrapper.string());
  const Variable own("XTUNE_KOKKOS_CXX", "/usr/bin/g++");
  if (fs::exists("/usr/bin/g++")) CHECK(kokkos::find_installation().compiler == "/usr/bin/g++");
}

TEST_CASE("Missing parts are reported, with advice") {
  const Scene scene;
  SUBCASE("No Kokkos below Kokkos_ROOT") {
    // Another may be found elsewhere; it is not the requested one.
    const std::string said = failure();
    CHECK(said.find("Kokkos_ROOT") != std::string::npos);
    CHECK(
        (said.find("holds no Kokkos") != std::string::npos || said.find("CMake finds no Kokkos") != std::string::npos));
  }
  SUBCASE("Too old") {
    scene.install(30300, "SERIAL");
    CHECK(failure().find("Kokkos 3.3.0") == 0);
  }
  SUBCASE("Half of an installation") {
    scene.install(40600, "SERIAL");
    fs::remove(scene.folder.path() / "kokkos/include/Kokkos_Core.hpp");
    CHECK(failure().find("names no directory with Kokkos_Core.hpp") != std::string::npos);
  }
  SUBCASE("A package that fails") {
    scene.install(40600, "SERIAL", "message(FATAL_ERROR \"its compiler is another\")\n");
    CHECK(failure().find("its compiler is another") != std::string::npos);
  }
  SUBCASE("No CMake") {
    const Variable path("PATH", "/nonexistent");
    CHECK(failure().find("cmake is not in PATH") == 0);
  }
}
