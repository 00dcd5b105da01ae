// What base keys hold of files that options name, of variables, and of headers of the system.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/build/environment.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/named_files.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"
#include "fakes/environment_variable.hpp"
#include "support/file_tree.hpp"

using namespace xtune::build;

using namespace xtune;
using namespace xtune::test;

namespace {

struct OptionFiles : FileTree {
  std::string text(const std::vector<std::string>& options, const std::string& source = "") const {
    CompileRequest request;
    request.source_name = path("k.cu");
    request.source = source;
    request.options = options;
    ScannedFiles read;
    return compile_closure(request, {{path("local"), path("system")}, true}, read).canonical_text;
  }
  /// Whether the existence and the contents of the file change the text.
  bool counts(const std::string& name, const std::vector<std::string>& options, const std::string& source = "") const {
    std::filesystem::remove(path(name));
    const std::string without = text(options, source);
    write(name, "one");
    const std::string before = text(options, source);
    write(name, "another");
    const bool counted = before != without && text(options, source) != before;
    std::filesystem::remove(path(name));
    return counted;
  }
};

}  // namespace

TEST_CASE("Variables that compilers read count where they are set") {
  const OptionFiles tree;
  const std::string plain = tree.text({});
  for (const char* name : {"COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "LD_RUN_PATH"}) {
    const Variable variable(name, "+-DSCALE=3");
    CHECK(tree.text({}) != plain);
  }
  const Variable variable("CXXFLAGS", "-O0");  // make's
  CHECK(tree.text({}) == plain);
}

TEST_CASE("The list of variables names each once, and each has its readers") {
  using enum VariableReader;
  const auto all = variables_read_by({make, folders, compiler, threads, loader});
  CHECK(std::is_sorted(all.begin(), all.end()));
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(variables_read_by({loader}) == std::vector<std::string>{"GLIBC_TUNABLES", "LD_LIBRARY_PATH", "LD_PRELOAD"});
}

TEST_CASE("A header that macros name counts by being there where it is only asked for") {
  const OptionFiles tree;
  CHECK(tree.counts("flag.h", {}, "#define H \"flag.h\"\n#if __has_include(H)\n#endif\n"));
  CHECK(tree.counts("flag.h", {"-DH=\"flag.h\""}, "#if defined(__has_include) && __has_include( H )\n#endif\n"));
  CHECK(tree.counts("flag.h", {}, "#define N(x) <x.h>\n#if __has_include(N(flag))\n#endif\n") ==
        tree.counts("flag.h", {}, "#define N <flag.h>\n#if __has_include(N)\n#endif\n"));
  CHECK(scan_source("#ifdef __has_include\n#endif\n#if defined(__has_include)\n#endif\n").probed.empty());
}

TEST_CASE("Inline assembly reads files by .include, and by words that several literals make up") {
  const OptionFiles tree;
  const std::string name = "\\\"" + tree.path("f.s") + "\\\"";
  CHECK(tree.counts("f.s", {}, "asm(\".include " + name + "\\n\");\n"));
  CHECK(tree.counts("f.s", {}, "asm(R\"(.include \"" + tree.path("f.s") + "\")\");\n"));
  CHECK(tree.counts("f.s", {}, "asm(\".INCBIN " + name + "\n\");\n"));
  CHECK(tree.counts("f.s", {}, "asm(\".inc\" \"bin " + name + "\\n\");\n"));
  CHECK(tree.counts("f.s", {}, "asm(\".inc\"  // a comment\n  \"lude \" R\"(\"" + tree.path("f.s") + "\")\");\n"));
  tree.write("outer.s", "  .include \"" + tree.path("f.s") + "\"\n");
  CHECK(tree.counts("f.s", {}, "asm(\".include \\\"" + tree.path("outer.s") + "\\\"\");\n"));
  CHECK(scan_source("const char* t = \".includes nothing\"; a.include(\"x\");").mentioned.empty());
  CHECK(scan_source("const char* t = \".includes nothing\"; a.include(\"x\");").unknown.empty());
}

TEST_CASE("Headers in the directories that compilers search by default count by their contents") {
  const OptionFiles tree;
  CHECK(tree.counts("local/lib/x.h", {}, "#include <lib/x.h>\n"));
  CHECK(tree.counts("system/lib/x.h", {}, "#include \"lib/x.h\"\n"));
  tree.write("system/lib/outer.h", "#include \"inner.h\"\n");
  CHECK(tree.counts("system/lib/inner.h", {}, "#include <lib/outer.h>\n"));
  // The directories of -idirafter come after them, those of -isystem before.
  tree.write("system/y.h", "");
  CHECK_FALSE(tree.counts("after/y.h", {"-idirafter", tree.path("after")}, "#include <y.h>\n"));
  CHECK(tree.counts("before/y.h", {"-isystem", tree.path("before")}, "#include <y.h>\n"));
}

TEST_CASE("Headers of the C library, the C++ library and the kernel count by name") {
  for (const char* name : {"math.h", "sys/types.h", "bits/types.h", "linux/perf_event.h", "c++/12/vector", "./time.h"})
    CHECK(is_system_header(name));
  for (const char* name : {"mylib/math.h", "Eigen/Dense", "eigen3/Eigen/Core", "zlib.h", "boost/math.hpp", ""})
    CHECK_FALSE(is_system_header(name));
  CHECK(is_system_header_path("/usr/include/stdio.h"));
  CHECK(is_system_header_path("/usr/lib/linux/uapi/x86/asm/types.h"));
  CHECK_FALSE(is_system_header_path("/usr/lib/linux/other.h"));
  CHECK_FALSE(is_system_header_path("/usr/include/eigen3/Eigen/Core"));
  CHECK_FALSE(is_system_header_path("/usr/local/include/math.h"));
  CompileRequest request;
  request.source = "#include <signal.h>\n#include <vector>\n#include <sys/mman.h>\n";
  ScannedFiles read;
  CHECK(compile_closure(request, {shared_header_folders(), true}, read).canonical_text ==
        compile_closure(request).canonical_text);
  CHECK(read.empty());
}

TEST_CASE("Options that name directories and headers count in all their spellings") {
  const OptionFiles tree;
  tree.write("inc/other.h", "");
  const std::string inc = tree.path("inc"), source = "#include <s.h>\n";
  for (const std::vector<std::string>& options : {std::vector<std::string>{"-I " + inc},
                                                  {"--include-directory=" + inc},
                                                  {"--include-directory", inc},
                                                  {"-isystem-after", inc},
                                                  {"-cxx-isystem", inc},
                                                  {"-Xclang", "-internal-isystem", "-Xclang", inc},
                                                  {"-Xclang", "-I", "-Xclang", inc},
                                                  {"-Wp,-I," + inc}}) {
    CAPTURE(options[0]);
    CHECK(tree.counts("inc/s.h", options, source));
  }
  tree.write("inc/a.h", "#include \"s.h\"\n");
  const std::string forced = tree.path("inc/a.h");
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--include", forced},
                                                  {"--include=" + forced},
                                                  {"-Xclang", "-include", "-Xclang", forced}}) {
    CAPTURE(options[0]);
    CHECK(tree.counts("inc/s.h", options));
  }
}

TEST_CASE("Files that options name count by their contents") {
  const OptionFiles tree;
  const std::string file = tree.path("f");
  for (const std::string& option : std::vector<std::string>{
           file, "@" + file, "-fplugin=" + file, "-Wl,-T," + file, "-Wa,-x,@" + file, "--some-new-option=" + file,
           "-Wl,--script=" + file, "--ptxas-options=--apply-controls=" + file, "-Xptxas=-v,--apply-controls=" + file,
           "--ptxas-options=-v,--apply-controls=" + file}) {
    CAPTURE(option);
    CHECK(tree.counts("f", {option}));
  }
  tree.write("outer", "'-DA=1' @" + file + "\n");
  CHECK(tree.counts("f", {"@" + tree.path("outer")}));
  CHECK(tree.counts("f", {"-Wl,-x,@" + tree.path("outer")}));
  tree.write("circle", "@" + tree.path("circle"));
  tree.text({"@" + tree.path("circle")});
  CHECK(tree.counts("profile/default.profdata", {"-fprofile-use=" + tree.path("profile")}));
}

TEST_CASE("An option that may link a runtime of threads lets the variables of threads count") {
  for (const char* option : {"-fopenmp", "-lgomp", "-l{BLAS}", "-Wl,-lx", "lib/libx.so", "libx.so.1", "x.a", "@flags"})
    CHECK(may_use_threads({option}));
  for (const char* option : {"-O3", "-DNAME=x.so", "-Ilib", "v.cpp"}) CHECK_FALSE(may_use_threads({option}));
}
