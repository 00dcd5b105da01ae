// Tests of finding what is installed with the program.
#include "worker/ipc/installed.hpp"

#include <doctest/doctest.h>

#include "support/error_of.hpp"
#include "support/file_tree.hpp"
#include "worker/ipc/target.hpp"

using namespace xtune;
using namespace xtune::worker;
namespace fs = std::filesystem;

namespace {

/// An installation, whose program the process has for its own.
struct Installation : test::FileTree {
  Installation(const std::string& program, const std::string& data) {
    write(program, "");
    for (const char* name : {"gemm", "gemm_f16", "softmax"}) write(data + "configs/" + name + ".toml", "");
    write(data + "configs/notes.md", "");
    set_worker_program(path(program));
  }
  ~Installation() { set_worker_program({}); }
};

/// The working directory of a test.
struct WorkingDirectory : test::FileTree {
  const fs::path before = fs::current_path();
  WorkingDirectory() { fs::current_path(folder.path()); }
  ~WorkingDirectory() { fs::current_path(before); }
};

}  // namespace

TEST_CASE("Specs are found beside the program, also if it was moved or is started by a link") {
  const Installation prefix("first/bin/xtune", "first/share/xtune/");
  CHECK(shipped_spec("gemm") == prefix.path("first/share/xtune/configs/gemm.toml"));
  fs::rename(prefix.path("first"), prefix.path("moved"));
  fs::create_symlink(prefix.path("moved/bin/xtune"), prefix.path("link"));
  for (const char* program : {"moved/bin/xtune", "link"}) {
    set_worker_program(prefix.path(program));
    CHECK(shipped_specs().size() == 3);
    CHECK(shipped_spec("softmax") == prefix.path("moved/share/xtune/configs/softmax.toml"));
  }
  const Installation package("xtune/xtune", "xtune/");
  CHECK(shipped_spec("gemm") == package.path("xtune/configs/gemm.toml"));
}

TEST_CASE("A name is what has no directory and no extension, and no file is there") {
  const WorkingDirectory here;
  CHECK(is_spec_name("gemm"));
  for (const char* path : {"", "gemm.toml", "./gemm", "/gemm", "a/gemm"}) CHECK_FALSE(is_spec_name(path));
  here.write("gemm/gemm.cu", "");
  CHECK(is_spec_name("gemm"));
  here.write("softmax", "");
  CHECK_FALSE(is_spec_name("softmax"));
}

TEST_CASE("An unknown name is a missing file, and the nearest name is shown") {
  const Installation prefix("bin/xtune", "share/xtune/");
  const WorkingDirectory here;
  const auto error = [](const char* name) { return test::error_of([&] { shipped_spec(name); }, ErrorKind::io); };
  CHECK(error("gem") ==
        "cannot read gem: No such file or directory, and no kernel that comes with xtune has this name (did you mean "
        "'gemm'?); `xtune kernels` lists them");
  here.write("tables/a.csv", "");
  CHECK(error("tables").starts_with("cannot read tables: Is a directory, and no kernel"));
}
