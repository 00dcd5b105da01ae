// Files that change around a compile, and compilers that are replaced.
#include "core/build/checked_compile.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/files.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/source_closure.hpp"
#include "support/text.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::base;
using namespace xtune::build;

using namespace xtune;
using namespace xtune::test;

namespace {

namespace fs = std::filesystem;

class FakeToolchain final : public Toolchain {
 public:
  std::string name = "fake 1";
  int compiles = 0;
  std::function<void()> meanwhile = [] {};
  std::optional<std::vector<std::string>> files_read;
  bool refuses = false;

  std::string fingerprint() override { return name; }
  std::string default_arch() override { return "sm_90"; }
  Artifact compile(const CompileRequest&) override {
    ++compiles;
    meanwhile();
    if (refuses) throw CandidateFailure(Outcome::compile_failed, "refused");
    Artifact artifact;
    artifact.image = "image";
    artifact.files_read = files_read;
    return artifact;
  }
};

struct Project {
  TemporaryDirectory folder;
  FakeToolchain toolchain;
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  Project() {
    fs::create_directories(path("first"));
    write("h.h", "int a;");
  }
  CompileRequest request(const std::string& source = "#include <h.h>\n") const {
    CompileRequest request;
    request.source_name = path("k.cu");
    request.source = source;
    request.include_dirs = {path("first"), folder.path().string()};
    request.files = std::make_shared<const KeyedFiles>(compile_closure(request).keyed);
    request.toolchain = "fake 1";
    return request;
  }
  /// The error; empty: compiled.
  std::string error(const CompileRequest& request) {
    try {
      const Artifact artifact = compile_checked(toolchain, request);
      return artifact.toolchain == "fake 1" ? "" : "made by " + artifact.toolchain;
    } catch (const Error& error) {
      return error.what();
    } catch (const CandidateFailure& failure) {
      return std::string("failed: ") + failure.what();
    }
  }
};

}  // namespace

TEST_CASE("A compile from the files that the key describes is the result") {
  Project project;
  CHECK(project.error(project.request()) == "");
  CHECK(project.toolchain.compiles == 1);
  project.toolchain.refuses = true;
  CHECK(project.error(project.request()) == "failed: refused");
}

TEST_CASE("A header that changes while it is compiled makes no result, and no failure") {
  Project project;
  project.toolchain.meanwhile = [&] { project.write("h.h", "int b;"); };
  for (const bool refuses : {false, true}) {
    project.write("h.h", "int a;");
    project.toolchain.refuses = refuses;
    const std::string error = project.error(project.request());
    CHECK(has(error, project.path("h.h") + ": changed since the run began"));
  }
}

TEST_CASE("A header that changed, went or was hidden before the compile is not compiled at all") {
  Project project;
  const CompileRequest request = project.request();
  SUBCASE("changed") { project.write("h.h", "int b;"); }
  SUBCASE("gone") { fs::remove(project.path("h.h")); }
  SUBCASE("hidden") { project.write("first/h.h", "int a;"); }
  SUBCASE("a link that leads elsewhere") {
    project.write("other.h", "int b;");
    fs::remove(project.path("h.h"));
    fs::create_symlink(project.path("other.h"), project.path("h.h"));
  }
  CHECK(has(project.error(request), "changed since the run began"));
  CHECK(project.toolchain.compiles == 0);
}

TEST_CASE("A header that was changed and put back is compiled once more") {
  Project project;
  const CompileRequest request = project.request();
  project.toolchain.meanwhile = [&] {
    if (project.toolchain.compiles > 1) return;
    project.write("new.h", "int b;");
    fs::rename(project.path("new.h"), project.path("h.h"));
    project.write("new.h", "int a;");
    fs::rename(project.path("new.h"), project.path("h.h"));
  };
  CHECK(project.error(request) == "");
  CHECK(project.toolchain.compiles == 2);
  CHECK(project.error(request) == "");
  CHECK(project.toolchain.compiles == 3);
}

TEST_CASE("A file that the compiler read and no key describes is named") {
  Project project;
  project.write("x.h", "");
  project.toolchain.files_read = {project.path("h.h"), project.path("first/../k.cu")};
  CHECK(project.error(project.request()) == "");
  project.toolchain.files_read->push_back(project.path("x.h"));
  CHECK(has(project.error(project.request()), "the compiler read " + project.path("x.h")));
}

TEST_CASE("Where a name cannot be told, only a compiler that lists its files will do") {
  Project project;
  const std::string source = "#define S2(x) #x\n#define S(x) S2(x)\n#include S(k/__ARCH__.h)\n";
  CHECK(has(project.error(project.request(source)), "k.cu: #include S(k/__ARCH__.h)"));
  project.toolchain.files_read.emplace();
  CHECK(project.error(project.request(source)) == "");
}

TEST_CASE("Another compiler than the key names makes nothing") {
  Project project;
  CompileRequest request = project.request();
  request.toolchain = "fake 2";
  CHECK_THROWS_AS(compile_checked(project.toolchain, request), ToolchainChanged);
  CHECK(project.toolchain.compiles == 0);
  project.toolchain.meanwhile = [&] { project.toolchain.name = "fake 3"; };
  CHECK_THROWS_WITH_AS(compile_checked(project.toolchain, project.request()), doctest::Contains("'fake 3'"),
                       ToolchainChanged);
}
