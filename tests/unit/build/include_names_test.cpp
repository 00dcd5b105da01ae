// Names that macros compute, and the digests of sources that include them or read files by other ways.
#include "core/build/include_names.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "core/build/source_closure.hpp"
#include "fakes/environment_variable.hpp"
#include "support/file_tree.hpp"

using namespace xtune::build;

using namespace xtune;
using namespace xtune::test;

namespace {

std::string names(const std::vector<std::string>& macros, const std::string& text) {
  MacroDefinitions definitions;
  for (const std::string& macro : macros) definitions.define(macro);
  const MacroDefinitions::Names found = definitions.names_of(text);
  std::string result;
  for (const IncludeDirective& name : found.names)
    result += (result.empty() ? "" : " ") + ((name.quoted ? "\"" : "<") + name.name);
  return result + (found.complete ? "" : " ?");
}

struct IncludingSource : FileTree {
  CompileRequest request(const std::string& source) const {
    CompileRequest request;
    request.source_name = path("src/k.cu");
    request.source = source;
    request.include_dirs = {path("inc")};
    return request;
  }
  std::string text(const CompileRequest& request) const { return compile_closure(request).canonical_text; }
  /// Whether a change of the file is a change of the source.
  bool counts(const CompileRequest& request, const std::string& name) const {
    write(name, "one");
    const std::string before = text(request);
    write(name, "another");
    return text(request) != before;
  }
  bool counts(const std::string& source, const std::string& name) const { return counts(request(source), name); }
};

}  // namespace

TEST_CASE("Macros give the names that they may stand for") {
  CHECK(names({"H \"sub/h.h\""}, "H") == "\"sub/h.h");
  CHECK(names({"H <sub/h.h>"}, "H") == "<sub/h.h");
  CHECK(names({"A B", "B C", "C \"h.h\""}, "A") == "\"h.h");
  CHECK(names({"PATH sub/h.h"}, "<PATH>") == "<sub/h.h");
  CHECK(names({"STR2(x) #x", "STR(x) STR2(x)", "DIR sub"}, "STR(DIR/h.h)") == "\"sub/h.h");
  CHECK(names({"CAT2(a,b) a##b", "CAT(a, b) CAT2(a, b)", "S(x) S2(x)", "S2(x) #x", "V 7"}, "S(CAT(k_, V).h)") ==
        "\"k_7.h");
  CHECK(names({"S(...) #__VA_ARGS__"}, "S(a.h)") == "\"a.h");
}

TEST_CASE("Every definition counts, whichever is in force") {
  CHECK(names({"H \"a.h\"", "H \"b.h\"", "H \"a.h\""}, "H") == "\"a.h \"b.h");
  CHECK(names({"S2(x) #x", "S(x) S2(x)", "V 1", "V 2", "D a", "D b"}, "S(D/V.h)") == "\"a/1.h \"a/2.h \"b/1.h \"b/2.h");
}

TEST_CASE("Unknown includes are reported") {
  CHECK(names({"S2(x) #x", "S(x) S2(x)"}, "S(k___CUDA_ARCH__.h)") == "\"k___CUDA_ARCH__.h");
  CHECK(names({"S2(x) #x", "S(x) S2(x)"}, "S(k/__CUDA_ARCH__.h)") == "\"k/__CUDA_ARCH__.h ?");
  CHECK(names({"A A B", "B A"}, "A").find('?') != std::string::npos);
  CHECK(names({"F(x) F2(x) F2(x)", "F2(x) F3(x) F3(x)", "F3(x) F4(x) F4(x)", "F4(x) x x"}, "F(F(F(F(1))))").find('?') !=
        std::string::npos);
  CHECK(names({}, "__CONFIG_FILE") == "");
  CHECK(names({}, "CONFIG_FILE") == "");  // not defined: the compiler refuses it, or its own header defines it
  for (const char* text : {"", "(", "F(", "\"", "<", "#", "##", "F(,,)"}) names({"F(a,b) a##b #a ##", "G("}, text);
}

TEST_CASE("Macros with too many expansions are reported, not expanded for hours") {
  std::vector<std::string> macros;
  std::string counting = "STR(X";
  for (int i = 0; i < 16; ++i) {
    macros.push_back("X " + std::string(1000, static_cast<char>('a' + i)));
    counting += "/X";
  }
  counting += ")";
  for (const char* macro : {"STR2(x) #x", "STR(x) STR2(x)", "H \"h.h\""}) macros.emplace_back(macro);
  MacroDefinitions definitions;
  std::string defines;
  for (const std::string& macro : macros) {
    definitions.define(macro);
    defines += "#define " + macro + "\n";
  }
  CHECK(definitions.names_of("H").complete);
  for (int i = 0; i < 100; ++i) CHECK_FALSE(definitions.names_of(counting).complete);
  const IncludingSource folder;
  const std::vector<std::string> unknown =
      compile_closure(folder.request(defines + "#include " + counting + "\n")).keyed.unknown;
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].find("#include STR(X/X") != std::string::npos);
}

TEST_CASE("Headers that macros name are part of the digest") {
  const IncludingSource tree;
  CHECK(tree.counts("#define H \"sub/h.h\"\n#include H\n", "src/sub/h.h"));
  CHECK(tree.counts("#define H \"../sub/h.h\"\n#include H\n", "sub/h.h"));
  tree.write("inc/names.h", "#define IN(x) <deep/x.h>\n");
  CHECK(tree.counts("#include <names.h>\n#include IN(one)\n", "inc/deep/one.h"));
  // A computed header may define what names the next one.
  tree.write("inc/first.h", "#define SECOND \"second.h\"\n");
  CHECK(tree.counts("#define FIRST <first.h>\n#include FIRST\n#include SECOND\n", "inc/second.h"));
}

TEST_CASE("A parameter that names a header counts by its value") {
  const IncludingSource tree;
  CompileRequest request = tree.request("#define S2(x) #x\n#define S(x) S2(x)\n#include S(V.h)\n");
  request.defines = {{"V", "two"}};
  CHECK(compile_closure(request).computes);
  CHECK(tree.counts(request, "inc/two.h"));
  CHECK_FALSE(tree.counts(request, "inc/three.h"));
  request.defines.clear();
  request.options = {"-DV=three"};
  CHECK(tree.counts(request, "inc/three.h"));
  CHECK_FALSE(compile_closure(tree.request("#include <a.h>\n")).computes);
}

TEST_CASE("Folders of the environment are searched, where compilers search them") {
  const IncludingSource tree;
  for (const char* name : {"CPATH", "CPLUS_INCLUDE_PATH"}) {
    const Variable variable(name, "/nowhere:" + tree.path("env"));
    CHECK(tree.counts("#include <e.h>\n", "env/e.h"));
    tree.write("inc/e.h", "of include_dirs");
    CHECK_FALSE(tree.counts("#include <e.h>\n", "env/e.h"));
    std::filesystem::remove(tree.path("inc/e.h"));
  }
  CHECK_FALSE(tree.counts("#include <e.h>\n", "env/e.h"));
}

TEST_CASE("Files that are read without #include are part of the digest") {
  const IncludingSource tree;
  CHECK(tree.counts("asm(\".incbin \\\"" + tree.path("blob.bin") + "\\\"\");\n", "blob.bin"));
  CHECK(tree.counts("asm(R\"(.incbin \"" + tree.path("blob.bin") + "\")\");\n", "blob.bin"));
  CHECK(tree.counts("asm(\".incbin \\\"b.bin\\\"\");\n", "inc/b.bin"));
  CHECK(tree.counts("int x[] = {\n#embed <data.bin>\n};\n", "inc/data.bin"));
  CompileRequest request = tree.request("");
  request.options = {"-fplugin=" + tree.path("plugin.so")};
  CHECK(tree.counts(request, "plugin.so"));
  request.options = {"@" + tree.path("words")};
  CHECK(tree.counts(request, "words"));
  request.options = {"-Wl,-T," + tree.path("script.ld")};
  CHECK(tree.counts(request, "script.ld"));
  request.options = {"-iquote", tree.path("quoted")};
  request.source = "#include \"q.h\"\n";
  CHECK(tree.counts(request, "quoted/q.h"));
  request.options = {"-imacros", tree.path("macros.h")};
  CHECK(tree.counts(request, "macros.h"));
}

TEST_CASE("A header that is asked for counts by being there, and a later one of the same name too") {
  const IncludingSource tree;
  const CompileRequest asks = tree.request("#if __has_include(<opt.h>)\n#define FAST\n#endif\n");
  const std::string without = tree.text(asks);
  tree.write("inc/opt.h", "");
  CHECK(tree.text(asks) != without);
  CompileRequest request = tree.request("#include <h.h>\n");
  request.include_dirs.push_back(tree.path("inc2"));
  tree.write("inc/h.h", "#include_next <h.h>\n");
  CHECK(tree.counts(request, "inc2/h.h"));
}

TEST_CASE("Quoted names are looked for beside a link") {
  const IncludingSource tree;
  tree.write("real/h.h", "#include \"beside.h\"\n");
  tree.write("inc/x", "");
  std::filesystem::create_symlink(tree.path("real/h.h"), tree.path("inc/h.h"));
  CHECK(tree.counts("#include <h.h>\n", "inc/beside.h"));
}

TEST_CASE("An .incbin whose name is put together is reported") {
  const IncludingSource tree;
  CHECK(compile_closure(tree.request("asm(\".incbin \" NAME);\n")).keyed.unknown.size() == 1);
  CHECK(compile_closure(tree.request("asm(\".incbin \\\"\" NAME \"\\\"\");\n")).keyed.unknown.size() == 1);
  CHECK(compile_closure(tree.request("asm(\".incbin \\\"a.bin\\\"\");\n")).keyed.unknown.empty());
  CHECK(compile_closure(tree.request("#define F(x) F(F(x))\n#define H F(1)/\n#include H\n")).keyed.unknown.size() == 1);
}
