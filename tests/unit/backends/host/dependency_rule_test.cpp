// The make rules in which compilers and linkers list what they read.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backends/compiler/files_read.hpp"
#include "support/file_tree.hpp"

using namespace xtune;
using namespace xtune::test;

TEST_CASE("Rules for make are read with blanks, tabs, backslashes, hashes and dollars in names") {
  const FileTree here;
  here.write(
      "read",
      "out.o: /x/a\\ b /x/a\\\tb /x/a\\\\\\ b /x/a\\b /x/a\\#b /x/a$$b \\\n /x/last\\\\ /x/end\n\n/x/a: /x/not\n");
  CHECK(
      compiler::files_of_rule(here.path("read"), here.folder.path()) ==
      std::vector<std::string>{"/x/a b", "/x/a\tb", "/x/a\\ b", "/x/a\\b", "/x/a#b", "/x/a$b", "/x/last\\", "/x/end"});
  CHECK_FALSE(compiler::files_of_rule(here.path("none"), here.folder.path()));
}

TEST_CASE("What a linker read is told with and without quotes") {
  const FileTree here;
  for (const char* name : {"a b.a", "c.a", "d$e.a"}) here.write(name, "x");
  const std::string at = here.folder.path().string() + "/";
  here.write("linked", "/tmp/out: \\\n  " + at + "a b.a \\\n  " + at + "c.a \\\n  " + at +
                           "d$$e.a \\\n  /tmp/gone.o\n\n" + at + "a b.a:\n");
  CHECK(compiler::files_of_link(here.path("linked"), "/nowhere") ==
        std::vector<std::string>{at + "a b.a", at + "c.a", at + "d$e.a"});
}
