// Artifact keys: the scan for includes, and changes of a digest or a key.
#include "core/build/keys.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/portable_headers.hpp"
#include "core/build/source_closure.hpp"
#include "support/file_tree.hpp"
#include "system/files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;

using namespace xtune;
using namespace xtune::test;

namespace {

// "x for quoted, <x for angled, in order.
std::string includes(std::string_view source) {
  std::string text;
  for (const IncludeDirective& include : scan_source(source).includes)
    text += (text.empty() ? "" : " ") + ((include.quoted ? "\"" : "<") + include.name);
  return text;
}

struct DigestedSource : FileTree {
  std::filesystem::path root() const { return folder.path(); }
  std::string digest(const std::string& source, const std::vector<std::string>& dirs = {"inc"}) const {
    CompileRequest request;
    request.source_name = (root() / "src" / "k.cu").string();
    request.source = source;
    for (const std::string& dir : dirs) request.include_dirs.push_back((root() / dir).string());
    return xtune::base::sha256(source_closure(request).canonical_text);
  }
};

}  // namespace

TEST_CASE("includes as they are written") {
  CHECK(includes("#include \"a.h\"\n#include <b/c.h>\n") == "\"a.h <b/c.h");
  CHECK(includes("  #  include\t\"a.h\"") == "\"a.h");
  CHECK(includes("#include\"a.h\"\r\n#include<b>\r\n") == "\"a.h <b");
  CHECK(includes("%:include <a>\n#include_next <b>\n#import \"c\"") == "<a <b \"c");
  CHECK(includes("#if 0\n#include <a>\n#endif") == "<a");
  CHECK(includes("#inc\\\nlude \"a\\\n.h\"") == "\"a.h");
  CHECK(includes("/* x */ # /* y */ include /* z */ <a>") == "<a");
  CHECK(includes("#include MACRO\n#included <a>\nint include <a>;\n#define X #include <a>\n") == "");
  CHECK(includes("#include \"a\n#include <b>\n") == "<b");
  CHECK(includes("#include <>\n#include \"\"\n#include") == "");
}

TEST_CASE("includes in comments, strings and raw strings are none, and what follows them is found") {
  CHECK(includes("// #include <a>\n#include <b>") == "<b");
  CHECK(includes("// joined \\\n#include <a>\n#include <b>") == "<b");
  CHECK(includes("/*\n#include <a>\n*/\n#include <b>") == "<b");
  CHECK(includes("const char* s = \"/*\";\n#include <a>\n// */") == "<a");
  CHECK(includes("const char* s = \"\\\"/*\";\n#include <a>\n") == "<a");
  CHECK(includes("auto s = R\"(\n#include <a>\n)\";\n#include <b>") == "<b");
  CHECK(includes("auto s = u8R\"x(\n)\"\n#include <a>\n)x\";\n#include <b>") == "<b");
  CHECK(includes("char c = '\"';\n#include <a>\nchar d = '\"';") == "<a");
  CHECK(includes("char c = '\\'';\n#include <a>") == "<a");
  CHECK(includes("int n = 1'000'000;\n#include <a>\nint m = 0x1'F;") == "<a");
  CHECK(includes("auto FR = 1; auto s = FR\"(\";\n#include <a>\n") == "<a");
  CHECK(includes("// it's\n#include <a>") == "<a");
  CHECK(includes("#error don't\n#include <a>") == "<a");
}

TEST_CASE("a byte order mark and a lone carriage return hide no include") {
  CHECK(scan_source("\xEF\xBB\xBF#include \"a.h\"\n").includes.size() == 1);
  CHECK(scan_source("#define Q R\"(a\"b/*c)\"\n#include \"a.h\"\n/* */\n").includes.size() == 1);
  CHECK(scan_source("#define Q u8R\"x()\" /*)x\"\n#include \"a.h\"\n/* */\n").includes.size() == 1);
  // Clang ends the line there, and GCC does not.
  CHECK(scan_source("// text\r#include \"a.h\"\n").includes.size() == 1);
  CHECK(scan_source("// text\r\n#include \"a.h\"\r\n").includes.size() == 1);
}

TEST_CASE("any bytes are scanned to their end") {
  Random random(11);
  const std::string alphabet = "#include \"<>'/*R(\\\n%:ax0";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(40); n > 0; --n) text += alphabet[random.below(alphabet.size())];
    if (i % 10 == 0) text += static_cast<char>(random.below(256));
    for (const IncludeDirective& include : scan_source(text).includes) CHECK_FALSE(include.name.empty());
  }
  CHECK(includes(std::string(1000000, '\\')).empty());
  CHECK(includes("R\"" + std::string(100000, '(')).empty());
}

TEST_CASE("the digest follows includes wherever they lead") {
  const DigestedSource tree;
  const std::string source = "#include \"own.h\"\n#include <lib.h>\n";
  const std::string bare = tree.digest(source);
  tree.write("src/own.h", "int a;");
  const std::string with_own = tree.digest(source);
  tree.write("inc/lib.h", "#include \"deep.h\"\n");
  const std::string with_lib = tree.digest(source);
  tree.write("inc/deep.h", "int b;");
  const std::string with_deep = tree.digest(source);
  CHECK(bare != with_own);
  CHECK(with_own != with_lib);
  CHECK(with_lib != with_deep);
  tree.write("inc/deep.h", "int c;");
  CHECK(tree.digest(source) != with_deep);
  tree.write("inc/deep.h", "int b;");
  CHECK(tree.digest(source) == with_deep);
  tree.write("inc/unused.h", "int d;");
  CHECK(tree.digest(source) == with_deep);
  CHECK(tree.digest(source + " ") != with_deep);
}

TEST_CASE("the digest does not depend on where the files lie") {
  const auto fill = [](const DigestedSource& tree) {
    tree.write("src/own.h", "#include <lib.h>");
    tree.write("inc/lib.h", "int b;");
    return tree.digest("#include \"own.h\"");
  };
  CHECK(fill(DigestedSource()) == fill(DigestedSource()));
}

TEST_CASE("the first directory that has a file is used, and the including file's own only for quotes") {
  const DigestedSource tree;
  tree.write("one/x.h", "1");
  tree.write("two/x.h", "2");
  CHECK(tree.digest("#include <x.h>", {"one", "two"}) != tree.digest("#include <x.h>", {"two", "one"}));
  const std::string angled = tree.digest("#include <x.h>", {"one"}), quoted = tree.digest("#include \"x.h\"", {"one"});
  tree.write("src/x.h", "3");
  CHECK(tree.digest("#include <x.h>", {"one"}) == angled);
  CHECK(tree.digest("#include \"x.h\"", {"one"}) != quoted);
}

TEST_CASE("cycles, directories and missing files do not stop the digest") {
  const DigestedSource tree;
  tree.write("src/a.h", "#include \"b.h\"\n#include \"a.h\"");
  tree.write("src/b.h", "#include \"a.h\"\n#include \"../src/a.h\"");
  std::filesystem::create_directories(tree.root() / "src" / "folder.h");
  CHECK(tree.digest("#include \"a.h\"\n#include \"folder.h\"\n#include <nowhere.h>\n").size() == 64);
  for (int i = 0; i < 2000; ++i)
    tree.write("src/chain" + std::to_string(i) + ".h", "#include \"chain" + std::to_string(i + 1) + ".h\"");
  CHECK(tree.digest("#include \"chain0.h\"").size() == 64);
}

TEST_CASE("a key is the hash of its canonical text") {
  const KeyParts parts{{"a", "1"}, {"b", "say \"x\"\n\\"}};
  CHECK(key_of(parts) == sha256("[[\"a\",\"1\"],[\"b\",\"say \\\"x\\\"\\u000a\\\\\"]]"));
  CHECK(key_of({}) == sha256("[]"));
  CHECK(key_of({{"a", "b"}, {"c", "d"}}) != key_of({{"a", "b\",\"c"}, {"", "d"}}));
  CHECK(key_of({{"a", "\xff"}}) != key_of({{"a", "\xfe"}}));
}

TEST_CASE("every part of a request changes the artifact's key") {
  CompileRequest request;
  request.entry = "gemm";
  request.options = {"-O3", "-std=c++17"};
  request.defines = {{"M", "1"}, {"N", "2"}};
  request.arch = "sm_90";
  const auto key = [](const CompileRequest& r, const char* backend = "cuda", const char* fingerprint = "nvrtc 13",
                      const char* digest = "d") { return key_of(artifact_key_parts(r, backend, fingerprint, digest)); };
  const std::string before = key(request);
  CHECK(key(request) == before);
  CHECK(key(request, "hip") != before);
  CHECK(key(request, "cuda", "nvrtc 12") != before);
  CHECK(key(request, "cuda", "nvrtc 13", "e") != before);
  const auto changed = [&](auto change) {
    CompileRequest other = request;
    change(other);
    return key(other) != before;
  };
  CHECK(changed([](CompileRequest& r) { r.entry = "gemm2"; }));
  CHECK(changed([](CompileRequest& r) { r.more_entries = {"pack"}; }));
  CHECK(changed([](CompileRequest& r) { r.options = {"-O3 -std=c++17"}; }));
  CHECK(changed([](CompileRequest& r) { r.options = {"-std=c++17", "-O3"}; }));
  CHECK(changed([](CompileRequest& r) { r.defines[1].second = "3"; }));
  CHECK(changed([](CompileRequest& r) { r.arch = "sm_90a"; }));
  CHECK(changed([](CompileRequest& r) { r.sanitize = true; }));
  CHECK_FALSE(changed([](CompileRequest& r) { r.source_name = "elsewhere.cu"; }));
}

TEST_CASE("the key of a request for one kernel has no part for further ones") {
  CompileRequest request;
  request.entry = "pack";
  CHECK(artifact_key_parts(request, "cuda", "nvrtc 13", "d").size() == 9);
  request.more_entries = {"gemm<2>", "add"};
  CHECK(artifact_key_parts(request, "cuda", "nvrtc 13", "d").back() ==
        std::pair<std::string, std::string>("more_entries", "[\"gemm<2>\",\"add\"]"));
}

TEST_CASE("differences of keys") {
  const KeyParts a{{"options", "[\"-O2\"]"}, {"arch", "sm_90"}, {"old", "1"}},
      b{{"options", "[\"-O3\"]"}, {"arch", "sm_90"}, {"new", "2"}};
  CHECK(key_difference(a, a).empty());
  CHECK(key_difference(a, b) ==
        std::vector<std::string>{"options: [\"-O2\"] -> [\"-O3\"]", "old: 1 -> (none)", "new: (none) -> 2"});
}

TEST_CASE("a portable header counts by its contents where nothing else has its name") {
  DigestedSource sources;
  const std::string source = "#include <xtune/portable.cuh>\n";
  const std::string provided = sources.digest(source);
  CHECK(provided != sources.digest("#include <xtune/other.cuh>\n"));
  CompileRequest request;
  request.source = source;
  const SourceClosure closure = source_closure(request);
  CHECK(closure.missing.empty());
  REQUIRE(closure.files.size() == 2);
  CHECK(closure.files[1].words.contains("shuffle_down"));
  const PortableHeader* const portable = find_header(portable_headers(), "xtune/portable.cuh");
  REQUIRE(portable);
  CHECK(closure.canonical_text.find(sha256(portable->text)) != std::string::npos);
  CHECK(portable->sha256 == sha256(portable->text));
  sources.write("inc/xtune/portable.cuh", "int x;\n");
  CHECK(sources.digest(source) != provided);
}

TEST_CASE("a stand-in counts by its contents where the compiler searches no headers of the system") {
  CompileRequest request;
  request.source = "#include <cstdint>\n";
  const PortableHeader* const standin = find_header(standin_headers(), "cstdint");
  REQUIRE(standin);
  CHECK(standin->set == HeaderSet::library);
  CHECK(standin->sha256 == sha256(standin->text));
  const SourceClosure alone = source_closure(request);
  CHECK_FALSE(alone.missing.empty());
  CHECK(alone.canonical_text.find(standin->sha256) != std::string::npos);
  SystemSearch system;
  system.header_dirs = {"/usr/include"};
  ScannedFiles read;
  CHECK(compile_closure(request, system, read).canonical_text.find(standin->sha256) == std::string::npos);
}

TEST_CASE("each header of include/xtune that kernels may include is a portable header") {
  for (const char* name : {"xtune/portable.cuh", "xtune/narrow.cuh", "xtune/hopper.cuh"}) {
    const PortableHeader* const header = find_header(portable_headers(), name);
    REQUIRE(header);
    CHECK(std::string(header->text).find("#pragma once") != std::string::npos);
    CHECK(header->sha256 == sha256(header->text));
  }
  CHECK(find_header(portable_headers(), "xtune/other.cuh") == nullptr);
}
