// The files of a compiler, and what libraries name.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "core/build/keyed_files.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"

using namespace xtune::system;
using namespace xtune::build;

using namespace xtune;

namespace {

namespace fs = std::filesystem;

struct Folder {
  TemporaryDirectory folder;
  fs::path path(const std::string& name) const { return folder.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
};

}  // namespace

TEST_CASE("A tool counts with its libraries, and its digest follows contents") {
  const Folder here;
  const Variable store("XTUNE_CACHE_DIR", here.path("store").string());
  here.write("as", "one");
  ToolFiles tool;
  add_tool(here.path("as"), tool);
  add_tool(here.path("as"), tool);
  REQUIRE(tool.files.files.size() == 1);
  CHECK(are_untouched(tool.files) == !tool.files.files[0].recent);
  const std::string before = digest_of(tool);
  here.write("as", "two");
  CHECK_FALSE(are_untouched(tool.files));
  ToolFiles other;
  add_tool(here.path("as"), other);
  CHECK(digest_of(other) != before);
}

TEST_CASE("The first candidate counts, and the absence of those before it") {
  const Folder here;
  here.write("second", "x");
  here.write("third", "x");
  ToolFiles tool;
  CHECK(add_first({here.path("first"), here.path("second"), here.path("third")}, tool) == here.path("second"));
  CHECK(tool.files.absent == std::vector<std::string>{here.path("first").string()});
  REQUIRE(tool.files.files.size() == 1);
  tool.files.files[0].recent = false;
  CHECK(are_untouched(tool.files));
  here.write("first", "x");
  CHECK_FALSE(are_untouched(tool.files));
}

TEST_CASE("The libraries of a program are those that the loader lists, less the C library's") {
  CHECK(libraries_of("/dev/null").empty());
  for (const std::string& library : libraries_of("/proc/self/exe")) {
    CHECK(fs::path(library).is_absolute());
    CHECK(library.find("libc.so") == std::string::npos);
  }
}

TEST_CASE("A large file is hashed once: its digest is remembered by its state") {
  const Folder here;
  const Variable store("XTUNE_CACHE_DIR", here.path("store").string());
  here.write("cc1plus", std::string(2 << 20, 'x'));
  for (int i = 0; i < 100 && look_at(here.path("cc1plus")).recent; ++i) run_command({"sleep", "0.02"});
  ToolFiles first, second;
  add_tool_file(here.path("cc1plus"), first);
  const auto memories = [&] {
    std::error_code none;
    return std::distance(fs::directory_iterator(here.path("store/inventory"), none), fs::directory_iterator());
  };
  CHECK(memories() == 1);
  add_tool_file(here.path("cc1plus"), second);
  CHECK(digest_of(first) == digest_of(second));
  here.write("cc1plus", std::string(2 << 20, 'y'));
  ToolFiles third;
  add_tool_file(here.path("cc1plus"), third);
  CHECK(digest_of(third) != digest_of(first));
}
