// NVRTC's precompiled headers: the same code and diagnostics as without, for any change between two compiles.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "system/files.hpp"
#include "unit/backends/gpu/compile_cases.hpp"

using namespace xtune::system;
using namespace xtune::build;

using namespace xtune;
using namespace xtune::testing;

namespace {

namespace fs = std::filesystem;

/// A toolchain with its temporary files in `folder`; nullptr if NVRTC is missing.
struct Place {
  TemporaryDirectory folder;
  std::string before = std::getenv("XTUNE_TMP_DIR") ? std::getenv("XTUNE_TMP_DIR") : "";
  std::unique_ptr<Toolchain> toolchain;

  Place() {
    setenv("XTUNE_TMP_DIR", folder.path().c_str(), 1);
    if (XTUNE_HAS_CUDA) toolchain = toolchain_or_null("cuda");
    if (!toolchain) MESSAGE("skipped: NVRTC is missing");
  }
  ~Place() { before.empty() ? unsetenv("XTUNE_TMP_DIR") : setenv("XTUNE_TMP_DIR", before.c_str(), 1); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
      if (entry.path().extension() == ".pch") found.push_back(entry.path());
    return found;
  }
  /// NVRTC before 12.8 has none: then only the results are compared.
  bool has_them() const {
    const std::string name = toolchain->fingerprint();  // "nvrtc 13.0 ..."
    return std::stod(name.substr(name.find(' '))) >= 12.8;
  }
};

/// Without ptxas' clock.
std::string without_times(std::string log) {
  for (auto at = log.find("Compile time"); at != std::string::npos; at = log.find("Compile time", at))
    log.erase(at, log.find('\n', at) - at);
  return log;
}

CompileRequest half_request(int value) {
  CompileRequest request = request_for("sm_90", "scale",
                                       "// VALUE\n"
                                       "#if WIDE\n"
                                       "#include <cuda_fp16.h>\n"
                                       "#endif\n"
                                       "#include <mma.h>\n"
                                       "\n"
                                       "extern \"C\" __global__ void scale(float* out, int n) {\n"
                                       "  int unused;\n"
                                       "  out[n] = VALUE + WIDE;\n"
                                       "}\n");
  request.defines = {{"VALUE", std::to_string(value)}, {"WIDE", "1"}};
  return request;
}

Artifact compile_fresh(const CompileRequest& request) { return toolchain_or_null("cuda")->compile(request); }

}  // namespace

TEST_CASE("precompiled headers: the same code and log, from the second configuration on") {
  Place place;
  if (!place.toolchain) return;
  for (int value = 1; value <= 4; ++value) {
    CAPTURE(value);
    CompileRequest request = half_request(value);
    request.options = {"--ptxas-options=-O" + std::to_string(value % 4)};  // parses nothing
    const Artifact fresh = compile_fresh(request);
    const Artifact artifact = place.toolchain->compile(request);
    CHECK(artifact.image == fresh.image);
    CHECK(without_times(artifact.log) == without_times(fresh.log));
    CHECK(has(artifact.log, "kernels.cu(8)"));
    CHECK(artifact.usage.registers == fresh.usage.registers);
    if (place.has_them()) CHECK(place.files().size() == (value > 1));
  }

  CompileRequest wrong = half_request(5);
  wrong.source += "void nonsense() { nowhere(); }\n";
  const Refusal refusal = refusal_of(*place.toolchain, wrong);
  CHECK(has(refusal.message, "kernels.cu(11)"));
  CHECK_FALSE(has(refusal.log, "pch"));
  place.toolchain.reset();
  CHECK(fs::is_empty(place.folder.path()));
}

TEST_CASE("precompiled headers: none for a source that is compiled once, or that includes nothing of CUDA's") {
  Place place;
  if (!place.toolchain) return;
  place.toolchain->compile(half_request(1));
  for (int i = 0; i < 3; ++i) place.toolchain->compile(request_for("sm_90", "plain"));
  CHECK(place.files().empty());
}

TEST_CASE("precompiled headers: options may rule them out, directories do not") {
  Place place;
  if (!place.toolchain || !place.has_them()) return;
  CompileRequest request = half_request(1);
  for (const char* option : {"-G", "--device-debug", "--pch-messages=false"}) {
    request.options = {option};
    for (int i = 0; i < 3; ++i) place.toolchain->compile(request);
    CHECK(place.files().empty());
  }
  request.options = {"-I/nowhere/pch"};
  for (int i = 0; i < 2; ++i) place.toolchain->compile(request);
  CHECK(place.files().size() == 1);
}

TEST_CASE("precompiled headers: what the opening depends on is never served stale") {
  Place place;
  if (!place.toolchain) return;
  const TemporaryDirectory own;
  const fs::path header = own.path() / "part.h";
  CompileRequest request = half_request(1);
  request.source.insert(0, "#include \"part.h\"\n");
  request.source += "extern \"C\" __global__ void part(int* out) { *out = part_value; }\n";
  request.entry = "part";
  request.include_dirs = {own.path().string()};
  std::ofstream(header) << "constexpr int part_value = 1001;\n";
  const auto time = fs::last_write_time(header);
  for (int i = 0; i < 3; ++i) CHECK(place.toolchain->compile(request).image == compile_fresh(request).image);
  const std::string old = compile_fresh(request).image;

  SUBCASE("a header of the user's, changed within the resolution of its time") {
    std::ofstream(header) << "constexpr int part_value = 2002;\n";
    fs::last_write_time(header, time);
  }
  SUBCASE("a parameter that the header asks for") {
    std::ofstream(header) << "constexpr int part_value = VALUE;\n";
    for (int i = 0; i < 3; ++i) place.toolchain->compile(request);
    request.defines[0].second = "3003";
  }
  SUBCASE("options") {
    std::ofstream(header) << "#ifdef OPTION\nconstexpr int part_value = OPTION;\n#endif\n";
    request.options = {"-DOPTION=4"};
    for (int i = 0; i < 3; ++i) place.toolchain->compile(request);
    request.options = {"-DOPTION=5"};
  }
  const std::string expected = compile_fresh(request).image;
  CHECK(expected != old);
  for (int i = 0; i < 3; ++i) CHECK(place.toolchain->compile(request).image == expected);
}

TEST_CASE("precompiled headers: a large one stays as long as it is asked for, and goes when another is") {
  Place place;
  if (!place.toolchain || !place.has_them()) return;
  CompileRequest other = half_request(1);
  other.defines[1].second = "2";
  for (int i = 0; i < 2; ++i) place.toolchain->compile(half_request(1));
  REQUIRE(place.files().size() == 1);
  const fs::path first = place.files()[0];
  std::ofstream(first.parent_path() / "large.pch");
  fs::resize_file(first.parent_path() / "large.pch", std::uintmax_t{256} << 20);  // a hole
  for (int i = 0; i < 3; ++i) {
    place.toolchain->compile(other);
    place.toolchain->compile(half_request(1));
  }
  CHECK(place.files().size() == 2);
  for (int i = 0; i < 20; ++i) CHECK(place.toolchain->compile(other).image.size() > 0);
  REQUIRE(place.files().size() == 1);
  CHECK(place.files()[0].parent_path() != first.parent_path());
}

TEST_CASE("precompiled headers: damage costs time, not configurations") {
  Place place;
  if (!place.toolchain) return;
  const std::string expected = compile_fresh(half_request(1)).image;
  for (int i = 0; i < 2; ++i) place.toolchain->compile(half_request(1));
  SUBCASE("cut short") {
    for (const fs::path& file : place.files()) fs::resize_file(file, 1000);
  }
  SUBCASE("other bytes") {
    for (const fs::path& file : place.files()) std::ofstream(file) << "nothing that NVRTC knows";
  }
  SUBCASE("gone, with its folder") {
    for (const fs::path& file : place.files()) fs::remove_all(file.parent_path());
  }
  SUBCASE("everything gone") { fs::remove_all(place.folder.path()); }
  SUBCASE("nowhere to put them") {
    place.toolchain = toolchain_or_null("cuda");
    setenv("XTUNE_TMP_DIR", (place.folder.path() / "missing" / "missing").c_str(), 1);
  }
  for (int i = 0; i < 3; ++i) CHECK(place.toolchain->compile(half_request(1)).image == expected);
}
