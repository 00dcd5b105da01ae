// The flags in CMake's file API.
#include <doctest/doctest.h>

#include "backends/kokkos/installation.hpp"
#include "xtune/error.hpp"

using namespace xtune;
using Words = std::vector<std::string>;

TEST_CASE("A fragment is cut into the words that a shell would see") {
  CHECK(kokkos::split_words("-O3 -DNDEBUG") == Words{"-O3", "-DNDEBUG"});
  CHECK(kokkos::split_words("  -I\"/a b/c\"\t'-DX=\"y z\"' /d\\ e ") == Words{"-I/a b/c", "-DX=\"y z\"", "/d e"});
  CHECK(kokkos::split_words("\"-DX=\\\"q\\\"\" ''") == Words{"-DX=\"q\"", ""});
  CHECK(kokkos::split_words(" \n ").empty());
}

TEST_CASE("A target's options, definitions, directories and libraries keep their order") {
  const kokkos::BuildFlags flags = kokkos::flags_of_target(R"({
    "compileGroups": [{
      "compileCommandFragments": [{"fragment": "-O3 -DNDEBUG"}, {"fragment": "-fopenmp"}],
      "defines": [{"define": "KOKKOS_DEPENDENCE"}],
      "includes": [{"path": "/opt/k"}, {"isSystem": true, "path": "/opt/with blank"}]}],
    "link": {"commandFragments": [
      {"fragment": "-fopenmp", "role": "flags"},
      {"fragment": "-Wl,-rpath,/opt/lib /opt/lib/libkokkoscore.so", "role": "libraries"}]}})");
  CHECK(flags.compile ==
        Words{"-O3", "-DNDEBUG", "-fopenmp", "-DKOKKOS_DEPENDENCE", "-I", "/opt/k", "-isystem", "/opt/with blank"});
  CHECK(flags.link == Words{"-fopenmp", "-Wl,-rpath,/opt/lib", "/opt/lib/libkokkoscore.so"});
}

TEST_CASE("A file that is not an answer of CMake is an error that says so") {
  for (const char* text : {"", "{", "[]", "{\"compileGroups\": []}", "{\"compileGroups\": [{\"defines\": [{}]}]}"})
    CHECK_THROWS_WITH_AS(kokkos::flags_of_target(text),
                         doctest::Contains("CMake's description of Kokkos cannot be read"), Error);
  CHECK_THROWS_WITH_AS(kokkos::read_reply("/nonexistent", "unit"), doctest::Contains("CMake 3.14"), Error);
}
