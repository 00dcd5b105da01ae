// Files that change around a compile, and compilers that are replaced.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/hash.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/keys.hpp"
#include "core/build/manifest.hpp"
#include "core/build/source_closure.hpp"
#include "support/text.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::system;
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
  std::function<std::string()> image_of = [] { return "image"; };
  std::optional<FilesRead> files_read;
  bool refuses = false;

  std::string fingerprint() override { return name; }
  std::string default_arch() override { return "sm_90"; }
  bool lists_files() override { return files_read.has_value(); }
  Artifact compile(const CompileRequest&) override {
    ++compiles;
    meanwhile();
    if (refuses) {
      CandidateFailure failure(Outcome::compile_failed, "refused");
      failure.files_read = files_read;
      throw failure;
    }
    Artifact artifact;
    artifact.image = image_of();
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
    request.base_key = key_of(
        artifact_key_parts(request, "fake", "fake 1", xtune::base::sha256(source_closure(request).canonical_text)));
    request.run = "this";
    return request;
  }
  /// Of a compile that may fail.
  CompileKey key(const CompileRequest& request) {
    CompileKey made;
    try {
      compile_checked(toolchain, request, &made);
    } catch (const CandidateFailure&) {
    }
    return made;
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

TEST_CASE("A header that is written through a mapping, which may leave its times, makes no result") {
  Project project;
  std::fstream(project.path("h.h")) << "int a;";
  const int file = open(project.path("h.h").c_str(), O_RDWR);
  REQUIRE(file >= 0);
  void* const mapped = mmap(nullptr, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  REQUIRE(mapped != MAP_FAILED);
  char* const text = static_cast<char*>(mapped);
  text[4] = 'a';  // the page is dirty: later writes do not touch the times
  CompileRequest request = project.request();
  KeyedFiles files = *request.files;
  for (KeyedFile& each : files.files) each.recent = false;
  request.files = std::make_shared<const KeyedFiles>(files);
  project.toolchain.meanwhile = [&] { text[4] = 'b'; };
  CHECK(has(project.error(request), project.path("h.h") + ": changed since the run began"));
  munmap(mapped, 6);
}

TEST_CASE("Times show a change only where they are clearly older than the reading, by the grain of the file system") {
  const timespec fine{100, 500'000'000}, whole{100, 0};
  constexpr std::int64_t ms = 1'000'000;
  CHECK(unseen_changes_ns(fine, fine, {100, 510'000'000}, true) == 40 * ms);
  CHECK(unseen_changes_ns(fine, fine, {100, 600'000'000}, true) == 0);
  CHECK(unseen_changes_ns(whole, whole, {101, 0}, true) == 1000 * ms);
  CHECK(unseen_changes_ns(whole, whole, {102, 0}, true) == 0);
  CHECK(unseen_changes_ns(whole, fine, {101, 0}, true) == 0);  // an archive's time of modification
  CHECK(unseen_changes_ns(fine, fine, {102, 500'000'000}, false) == 1000 * ms);
  CHECK(unseen_changes_ns(fine, {200, 0}, {100, 0}, true) > 100'000 * ms);
}

TEST_CASE("A large file that another process may write through a mapping is read again, whatever its times are") {
  const Project project;
  project.write("w.bin", std::string(1 << 20, 'x'));
  KeyedFiles files;
  key_file(project.path("w.bin"), files);
  wait_until_old(files);
  REQUIRE_FALSE(look_at(project.path("w.bin")).recent);
  const int file = open(project.path("w.bin").c_str(), O_RDWR);
  REQUIRE(file >= 0);
  void* const mapped = mmap(nullptr, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  REQUIRE(mapped != MAP_FAILED);
  CHECK(look_at(project.path("w.bin")).recent);
  munmap(mapped, 6);
  CHECK_FALSE(look_at(project.path("w.bin")).recent);
}

TEST_CASE("What was compiled while a file could change unseen counts when two results agree, else for this run only") {
  Project project;
  project.write("w.bin", std::string(1 << 20, 'x'));
  CompileRequest request = project.request();
  KeyedFiles files;
  key_file(project.path("w.bin"), files);
  request.files = std::make_shared<const KeyedFiles>(files);
  const int writer = open(project.path("w.bin").c_str(), O_RDWR);
  REQUIRE(writer >= 0);
  const std::string sure = project.key(request).key;
  CHECK(project.toolchain.compiles == 2);
  CHECK(sure == request.base_key);
  project.toolchain.image_of = [&] { return std::to_string(project.toolchain.compiles); };
  CHECK(project.key(request).key != sure);
  close(writer);
  CHECK(project.key(request).key == sure);
}

TEST_CASE("A signal that ends the program is heard while a large file is hashed") {
  const Project project;
  project.write("w.bin", std::string(3 << 20, 'x'));
  static volatile std::sig_atomic_t heard = 0;
  const auto before = std::signal(SIGTERM, [](int) { heard = 1; });
  {
    const SignalsHeard signals;
    raise(SIGTERM);
    CHECK(signals.asked());
    CHECK(heard == 0);
  }
  CHECK(heard == 1);
  int pieces = 0;
  xtune::base::sha256_of_file(project.path("w.bin"), [&] { ++pieces; });
  CHECK(pieces == 3);
  std::signal(SIGTERM, before);
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

TEST_CASE("A file that only the compiler names is part of the key, by name and content") {
  Project project;
  const CompileRequest request = project.request();
  project.write("x.h", "one");
  project.toolchain.files_read = FilesRead{{project.path("h.h"), project.path("first/../k.cu")}, {}};
  CHECK(project.key(request).key == request.base_key);
  CHECK(project.toolchain.compiles == 1);
  project.toolchain.files_read->files.push_back(project.path("x.h"));
  for (const bool refuses : {false, true}) {
    project.toolchain.refuses = refuses;
    project.write("x.h", "one");
    project.toolchain.compiles = 0;
    const CompileKey one = project.key(request);
    // It was first looked at when it had been read, so a second compile confirms the content.
    CHECK(project.toolchain.compiles == 2);
    CHECK(one.reads.manifest == Manifest{{"x.h"}, {}});
    CHECK(one.key != request.base_key);
    CHECK(possible_keys(request.base_key, {contents_of(one.reads.manifest, request.source_name)}).front() == one.key);
    CompileRequest again = request;
    again.known_manifests = {one.reads.manifest};
    CHECK(project.key(again).key == one.key);
    CHECK(project.toolchain.compiles == 3);
    project.write("x.h", "two");
    CHECK(project.key(again).key != one.key);
    CHECK(contents_of(one.reads.manifest, request.source_name).digest != one.reads.digest);
  }
}

TEST_CASE("A place where a file would have been read is part of the key") {
  Project project;
  const CompileRequest request = project.request();
  project.toolchain.files_read = FilesRead{{}, {project.path("first/x.h")}};
  const CompileKey without = project.key(request);
  CHECK(without.reads.manifest == Manifest{{}, {"first/x.h"}});
  CHECK(without.key != request.base_key);
  CHECK(project.toolchain.compiles == 1);  // a file there would have been read, and listed
  project.write("first/x.h", "");
  CHECK(contents_of(without.reads.manifest, request.source_name).digest != without.reads.digest);
  CHECK(project.key(request).key != without.key);
}

TEST_CASE("A file that changes while it is compiled makes no result until two compiles agree") {
  Project project;
  const CompileRequest request = project.request();
  project.toolchain.files_read = FilesRead{{project.path("x.h")}, {}};
  project.toolchain.meanwhile = [&] { project.write("x.h", std::to_string(std::min(project.toolchain.compiles, 2))); };
  const CompileKey made = project.key(request);
  CHECK(project.toolchain.compiles > 2);
  CHECK(made.reads.digest == contents_of({{"x.h"}, {}}, request.source_name).digest);
  project.toolchain.meanwhile = [&] { project.write("x.h", std::to_string(project.toolchain.compiles)); };
  CHECK(has(project.error(request), "change all the time, such as x.h"));
}

TEST_CASE("A compile whose files are unknown has a key of this run") {
  Project project;
  const std::string source = "#define S2(x) #x\n#define S(x) S2(x)\n#include S(k/__ARCH__.h)\n";
  CompileRequest request = project.request(source);
  const std::string own = project.key(request).key;
  CHECK(own != request.base_key);
  CHECK(project.key(request).key == own);
  request.run = "another";
  CHECK(project.key(request).key != own);
  project.toolchain.files_read.emplace();
  CHECK(project.key(request).key == request.base_key);
  // No compiler lists the files that it only looked for.
  request = project.request("#define S2(x) #x\n#define S(x) S2(x)\n#if __has_include(S(k/__ARCH__.h))\n#endif\n");
  CHECK(project.key(request).key != request.base_key);
}

TEST_CASE("Manifests in a store come back, the newest first, and no other text does") {
  Project project;
  const std::filesystem::path store = project.folder.path() / "store";
  CHECK(stored_manifests(store, "host", "k.cu").empty());
  const Manifest one{{"../a b.h", "/usr/lib/libx.so"}, {"first/x.h"}}, two{{"y.h"}, {}};
  store_manifest(store, "host", "here/k.cu", one);
  store_manifest(store, "host", "k.cu", two);
  store_manifest(store, "host", "k.cu", {});
  store_manifest(store, "host", "k.cu", {{"a\nb"}, {}});
  const std::vector<Manifest> stored = stored_manifests(store, "host", "elsewhere/k.cu");
  CHECK(stored.size() == 2);
  CHECK(std::count(stored.begin(), stored.end(), one) == 1);
  CHECK(std::count(stored.begin(), stored.end(), two) == 1);
  CHECK(stored_manifests(store, "hip", "k.cu").empty());
  for (const auto& entry : fs::recursive_directory_iterator(store))
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::app) << "read /etc/passwd\n";
  CHECK(stored_manifests(store, "host", "k.cu").empty());
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
