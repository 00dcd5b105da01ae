// Names that macros compute, and the digests of sources that include them or read files by other ways.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/build/source_closure.hpp"
#include "fakes/environment_variable.hpp"
#include "support/file_tree.hpp"
#include "system/files.hpp"

using namespace xtune::build;

using namespace xtune;
using namespace xtune::test;

namespace {

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

TEST_CASE("Every definition of a macro counts, whichever is in force") {
  const IncludingSource tree;
  const std::string two = "#if X\n#define H \"sub/a.h\"\n#else\n#define H <b.h>\n#endif\n#define G H\n#include G\n";
  CHECK(tree.counts(two, "src/sub/a.h"));
  CHECK(tree.counts(two, "inc/b.h"));
  CHECK(compile_closure(tree.request(two)).keyed.unknown.empty());
}

TEST_CASE("Names that macros put together are reported: only a compiler knows them") {
  const IncludingSource tree;
  for (const char* text : {"S(k.h)", "H", "I", "F", "(", "#", "##", "F(,,)"}) {
    const std::string source =
        "#define S(x) #x\n#define D sub\n#define F(a,b) a##b\n#define G(\n"
        "#define H <D/h.h>\n#define I <__HERE__/h.h>\n#include ";
    CAPTURE(std::string(text));
    const std::vector<std::string> unknown = compile_closure(tree.request(source + text + "\n")).keyed.unknown;
    CHECK(unknown == std::vector<std::string>{"k.cu: #include " + std::string(text)});
  }
  // Not defined: the compiler refuses it, or a header that is not here defines it.
  for (const char* text : {"CONFIG_FILE", "__CONFIG_FILE"})
    CHECK(compile_closure(tree.request(std::string("#include ") + text + "\n")).keyed.unknown.empty());
  CHECK(compile_closure(tree.request("#define A B\n#define B A\n#include A\n")).keyed.unknown.empty());
}

TEST_CASE("A macro that asks whether a file exists counts where conditions call it") {
  const IncludingSource tree;
  tree.write("inc/has.h", "#define HAS(x) __has_include(x)\n#define ALL(x, y) (HAS(x) && HAS(y))\n");
  const auto keyed = [&](const std::string& condition) {
    return compile_closure(tree.request("#include <has.h>\n#define W <w.h>\n#if " + condition + "\n#endif\n")).keyed;
  };
  for (const char* condition : {"1 && HAS(<w.h>)", "HAS( W )", "HAS(\"w.h\")"}) {
    CAPTURE(std::string(condition));
    const KeyedFiles files = keyed(condition);
    CHECK(std::count(files.absent.begin(), files.absent.end(), tree.path("inc/w.h")) == 1);
    CHECK_FALSE(files.may_probe_others());
  }
  CHECK(keyed("ALL(<w.h>, <v.h>)").may_probe_others());
  CHECK_FALSE(keyed("HAD(<w.h>)").may_probe_others());
}

TEST_CASE("Headers that macros name are part of the digest") {
  const IncludingSource tree;
  CHECK(tree.counts("#define H \"sub/h.h\"\n#include H\n", "src/sub/h.h"));
  CHECK(tree.counts("#define H \"../sub/h.h\"\n#include H\n", "sub/h.h"));
  tree.write("inc/names.h", "#define IN <deep/one.h>\n");
  CHECK(tree.counts("#include <names.h>\n#include IN\n", "inc/deep/one.h"));
  // A computed header may define what names the next one.
  tree.write("inc/first.h", "#define SECOND \"second.h\"\n");
  CHECK(tree.counts("#define FIRST <first.h>\n#include FIRST\n#include SECOND\n", "inc/second.h"));
}

TEST_CASE("A parameter that names a header counts by its value") {
  const IncludingSource tree;
  CompileRequest request = tree.request("#include V\n");
  request.defines = {{"V", "<two.h>"}};
  CHECK(compile_closure(request).computes);
  CHECK(tree.counts(request, "inc/two.h"));
  CHECK_FALSE(tree.counts(request, "inc/three.h"));
  request.defines.clear();
  request.options = {"-DV=<three.h>"};
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

TEST_CASE("A file that is not text counts by its content, and names nothing") {
  const IncludingSource tree;
  const std::string source = "#if 0\n#include \"w.bin\"\n#endif\n";
  tree.write("src/w.bin", std::string(1, '\0') + "\n#include \"h.h\"\nasm(\".incbin \" NAME); X X\n");
  ScannedFiles read;
  const SourceClosure closure = compile_closure(tree.request(source), {}, read);
  CHECK(closure.files.size() == 2);
  CHECK((read.size() == 1 && read.begin()->second.text.empty() && read.begin()->second.scan.words.empty()));
  CHECK((closure.keyed.files.size() == 1 && closure.keyed.unknown.empty() && closure.keyed.absent.empty()));
  CHECK(!tree.counts(source, "src/h.h"));
  CHECK(tree.counts(source, "src/w.bin"));
}
