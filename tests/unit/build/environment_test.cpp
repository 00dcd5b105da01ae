// Which variables decide what commands do.
#include "core/build/environment.hpp"

#include <doctest/doctest.h>

#include "fakes/environment_variable.hpp"

using namespace xtune::build;

using namespace xtune;

namespace {

using Variables = std::map<std::string, std::string>;
using enum VariableReader;

Variables build_variables(const std::vector<std::string>& named = {}) {
  return set_variables({make, folders, compiler}, named);
}
Variables run_variables(const std::vector<std::string>& named = {}) { return set_variables({threads, loader}, named); }

}  // namespace

TEST_CASE("Variables that build tools read are described where they are set") {
  for (const char* name : {"CFLAGS", "CPATH", "GNUMAKEFLAGS", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN",
                           "HIPCC_COMPILE_FLAGS_APPEND", "CMAKE_PREFIX_PATH", "CCC_OVERRIDE_OPTIONS", "MAKEFILES"}) {
    CAPTURE(name);
    const Variable unset(name, std::nullopt);
    CHECK_FALSE(build_variables().contains(name));
    const Variable set(name, "x");
    CHECK(build_variables().at(name) == "x");
    CHECK_FALSE(run_variables().contains(name));
  }
}

TEST_CASE("Variables that runtimes read are described where they are set") {
  for (const char* name : {"OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT",
                           "MKL_DYNAMIC", "OPENBLAS_CORETYPE", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX"}) {
    CAPTURE(name);
    const Variable unset(name, std::nullopt);
    CHECK_FALSE(run_variables().contains(name));
    const Variable set(name, "");
    CHECK(run_variables().at(name).empty());
    CHECK_FALSE(build_variables().contains(name));
  }
}

TEST_CASE("A directory that the loader is to search twice counts once, where it is first") {
  for (const auto& [path, described] : {std::pair{"/a:/b:/a:/a:/c:/b", "/a:/b:/c"}, {":/a::/a", ":/a"}, {"", ""}}) {
    const Variable set("LD_LIBRARY_PATH", path);
    CHECK(run_variables().at("LD_LIBRARY_PATH") == described);
  }
}

TEST_CASE("Other variables are described where a spec names them") {
  const Variable other("XTUNE_TEST_OTHER", "1"), device("CUDA_VISIBLE_DEVICES", "3");
  CHECK_FALSE(run_variables().contains("XTUNE_TEST_OTHER"));
  CHECK_FALSE(run_variables().contains("CUDA_VISIBLE_DEVICES"));
  CHECK(run_variables({"XTUNE_TEST_OTHER"}).at("XTUNE_TEST_OTHER") == "1");
  CHECK(build_variables({"XTUNE_TEST_OTHER"}).at("XTUNE_TEST_OTHER") == "1");
  CHECK_FALSE(build_variables({"XTUNE_TEST_UNSET"}).contains("XTUNE_TEST_UNSET"));
}

TEST_CASE("The flags of make count but for those that say how many jobs run") {
  const auto flags = [](const char* text) {
    const Variable set("MAKEFLAGS", text);
    const Variables found = build_variables();
    return found.contains("MAKEFLAGS") ? found.at("MAKEFLAGS") : "(none)";
  };
  CHECK(flags("T=9") == "T=9");
  CHECK(flags(" -j8 --jobserver-auth=3,4 -- T=9 U=1") == "-- T=9 U=1");
  CHECK(flags("w -j --jobserver-fds=3,4") == "(none)");
  CHECK(flags("") == "(none)");
  const Variable level("CMAKE_BUILD_PARALLEL_LEVEL", "8");
  CHECK_FALSE(build_variables().contains("CMAKE_BUILD_PARALLEL_LEVEL"));
}
