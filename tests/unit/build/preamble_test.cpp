// Where a source's opening includes end, and which definitions belong in front of them.
#include "core/build/preamble.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "base/random.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/tokens.hpp"
#include "system/files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;

using namespace xtune;

namespace {

/// The preamble itself.
std::string preamble(const std::string& source) { return source.substr(0, preamble_length(source)); }

CompileRequest request_of(const std::string& source) {
  CompileRequest request;
  request.source_name = "folder/k.cu";
  request.source = source;
  request.defines = {{"T", "4"}, {"WIDE", "1"}};
  return request;
}

}  // namespace

TEST_CASE("preamble: directives up to the last include") {
  CHECK(preamble("#include <a.h>\nint x;\n") == "#include <a.h>\n");
  CHECK(preamble("// one\n\n/* two\n*/ #include <a.h> // b\n#define X 1\nint x;\n") ==
        "// one\n\n/* two\n*/ #include <a.h> // b\n");
  CHECK(preamble("#define A \\\n  1\n#pragma once\n#undef A\n#\n#include \"b.h\"\n#include <c>\n") ==
        "#define A \\\n  1\n#pragma once\n#undef A\n#\n#include \"b.h\"\n#include <c>\n");
  CHECK(preamble("#if A\n#error \"don't\"\n#include <a.h>\n#elif B\n#else\n#endif\nint x;\n") ==
        "#if A\n#error \"don't\"\n#include <a.h>\n#elif B\n#else\n#endif\n");
}

TEST_CASE("preamble: none, or no further, where it cannot be told") {
  const std::string first = "#include <a.h>\n";
  for (const char* rest : {
           "int x;\n#include <b.h>\n",
           "#if A\nint x;\n#endif\n#include <b.h>\n",
           "#if A\n#include <b.h>\nint x;\n#endif\n",
           "#if A\n#include <b.h>\n",
           "#include NAME\n#include <b.h>\n",
           "#pragma pack(1)\n#include <b.h>\n",
           "#define S R\"(\n)\"\n#include <b.h>\n",
           "#line 5\n#include <b.h>\n",
           "#error stop\n#include <b.h>\n",
           "#endif\n#include <b.h>\n",
           "#else\n#include <b.h>\n",
           "#include <b.h>",
           "/* open\n#include <b.h>\n",
           "",
       }) {
    CAPTURE(rest);
    CHECK(preamble(first + rest) == first);
    CHECK(preamble_length(std::string_view(rest)) == 0);
  }
  CHECK(preamble_length("#define A 1\nint x;\n") == 0);
}

TEST_CASE("preamble: what its files mention is defined before it, the rest behind") {
  const TemporaryDirectory folder;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder.path() / name) << text; };
  CompileRequest request = request_of("// T\n#include \"own.h\"\n#include <mma.h>\nint a = T;\n");
  request.include_dirs = {folder.path().string()};
  const SplitSource::Defines none, all = request.defines;

  write("own.h", "#include \"deep.h\"\n// T is told in comments and \"T\" only\n");
  write("deep.h", "#if WIDE\nint wide;\n#endif\n");
  const SplitSource split = split_source(request);
  CHECK(split.before == SplitSource::Defines{{"WIDE", "1"}});
  CHECK(split.between == SplitSource::Defines{{"T", "4"}});
  CHECK(split.head == "// T\n#include \"own.h\"\n#include <mma.h>\n");
  CHECK(split.tail == "int a = T;\n");
  CHECK(split.head_line == 1);
  CHECK(split.tail_line == 4);
  request.first_line = 10;
  CHECK(split_source(request).head_line == 10);
  CHECK(split_source(request).tail_line == 13);
  CHECK(split.digest.size() == 64);
  CHECK(split.of_toolchain);

  SUBCASE("the digest follows the headers' text, not the tail's") {
    request.source += "int b;\n";
    CHECK(split_source(request).digest == split.digest);
    write("deep.h", "#if WIDE\nint wider;\n#endif\n");
    CHECK(split_source(request).digest != split.digest);
  }
  SUBCASE("names that may be computed leave everything in front") {
    for (const char* text : {"#define JOIN(x) x##IDE\n", "#include WHICH\n"}) {
      write("deep.h", text);
      const SplitSource whole = split_source(request);
      CHECK(whole.head.empty());
      CHECK(whole.before == all);
      CHECK(whole.between == none);
      CHECK(whole.tail == request.source);
    }
  }
  SUBCASE("folders that options name are searched, files they force in leave everything in front") {
    request.include_dirs.clear();
    request.options = {"-I" + folder.path().string()};
    CHECK(split_source(request).before == SplitSource::Defines{{"WIDE", "1"}});
    request.options = {"-include", "own.h"};
    CHECK(split_source(request).before == all);
  }
  SUBCASE("headers of the user's alone") {
    request.source = "#include \"own.h\"\nint a;\n";
    CHECK(split_source(request).head == "#include \"own.h\"\n");
    CHECK_FALSE(split_source(request).of_toolchain);
  }
  SUBCASE("settings of the toolchain's headers come before those") {
    request.defines = {
        {"T", "4"}, {"_CG_ABI_EXPERIMENTAL", "1"}, {"CUB_STDERR", "1"}, {"KOKKOS_BOUNDS", "1"}, {"CUBE", "1"}};
    CHECK(split_source(request).between == SplitSource::Defines{{"T", "4"}, {"CUBE", "1"}});
  }
  SUBCASE("macros with arguments count by their name") {
    request.defines = {{"WIDE(x)", "x"}, {"T(x)", "x"}};
    CHECK(split_source(request).before == SplitSource::Defines{{"WIDE(x)", "x"}});
  }
}

TEST_CASE("preamble: any text is taken, and its parts make up the whole") {
  const char* const pieces[] = {
      "#include <a.h>", "#include \"no.h\"", "\n", "\n", "#if T", "#endif", "\\\n", "/*", "*/",
      "// T",           "#define A R\"(",    "'",  "\"", "\\",    "\0x",    "#",    "%:", "T"};
  Random random(7);
  std::size_t with_head = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t n = random.below(24); n > 0; --n) text += pieces[random.below(std::size(pieces))];
    CAPTURE(text);
    const SplitSource split = split_source(request_of(text));
    CHECK(split.head + split.tail == text);
    CHECK(split.before.size() + split.between.size() == 2);
    if (split.head.empty()) continue;
    ++with_head;
    CHECK(split.head.back() == '\n');
    CHECK_FALSE(scan_source(split.head).includes.empty());
  }
  CHECK(with_head > 100);
}

TEST_CASE("what looks like a comment in a directive's text is none") {
  const TokenizedSource read = tokenize("#define ALL \"/*.cu\"\nint a; // */\n");
  CHECK(read.tokens.size() == 3);
  CHECK(read.directives.front().text == "ALL \"/*.cu\"");
  CHECK(preamble_length("#define ALL \"/*.cu\"\n#include <x>\nint a; // */\n") == 33);
}
