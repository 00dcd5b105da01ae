// What keys hold of a compiler's libraries, parts, variables and option files, and of headers of the system.
#include "core/build/option_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "core/build/environment.hpp"
#include "core/build/include_scan.hpp"
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

TEST_CASE("A library that needs a runtime of threads is known, however options name it") {
  const OptionFiles tree;
  tree.write("v.cpp", "int v() { return 1; }\n");
  std::filesystem::create_directories(tree.path("lib"));
  const auto make = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "g++", "-shared", "-fPIC", tree.path("v.cpp"), "-o", tree.path("lib/lib" + name + ".so")};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(base::run_command(words).ok());
  };
  make("plain", {});
  make("threads", {"-Wl,--no-as-needed", "-fopenmp"});
  CHECK(links_threads({"-L" + tree.path("lib"), "-lthreads"}));
  CHECK(links_threads({"-Wl,-L," + tree.path("lib") + ",-lthreads"}));
  CHECK(links_threads({tree.path("lib/libthreads.so")}));
  CHECK(links_threads({"-lgomp"}));
  CHECK(links_threads({"-lopenblas"}));
  CHECK(links_threads({"-l{BLAS}"}));
  CHECK_FALSE(links_threads({"-L" + tree.path("lib"), "-lplain", "-lm", "-O3", tree.path("v.cpp")}));
  const Variable variable("LIBRARY_PATH", tree.path("lib"));
  CHECK(links_threads({"-lthreads"}));
}

TEST_CASE("Libraries that options link count by their contents") {
  const OptionFiles tree;
  for (const char* name : {"lib/libf.a", "lib/libf.so"}) {
    CHECK(tree.counts(name, {"-L" + tree.path("lib"), "-lf"}));
    CHECK(tree.counts(name, {"-L", tree.path("lib"), "-l", "f"}));
    CHECK(tree.counts(name, {"-Wl,-L" + tree.path("lib") + ",--whole-archive,-lf,--no-whole-archive"}));
    CHECK(tree.counts(name, {"-Xlinker", "-rpath", "-Xlinker", tree.path("lib"), "-lf"}));
    CHECK(tree.counts(name, {"-Wl,-rpath=" + tree.path("lib"), "-lf"}));
    CHECK_FALSE(tree.counts(name, {"-L" + tree.path("lib"), "-lother"}));
    CHECK_FALSE(tree.counts(name, {"-L" + tree.path("lib")}));
    const Variable variable("LIBRARY_PATH", tree.path("lib"));
    CHECK(tree.counts(name, {"-lf"}));
  }
  const Variable variable("LD_LIBRARY_PATH", tree.path("lib"));
  CHECK(tree.counts("lib/libf.so", {"-lf"}));
  CHECK(tree.counts("lib/f.o", {"-L" + tree.path("lib"), "-l:f.o"}));
}

TEST_CASE("Parts of a compiler that options or the environment put before its own count") {
  const OptionFiles tree;
  CHECK(tree.counts("bin/cc1plus", {"-B" + tree.path("bin")}));
  CHECK(tree.counts("bin/ld", {"-B", tree.path("bin")}));
  CHECK(tree.counts("bin/my-as", {"-B" + tree.path("bin/my-")}));
  CHECK_FALSE(tree.counts("bin/cc1plus", {}));
  const Variable variable("COMPILER_PATH", "/nowhere:" + tree.path("bin"));
  CHECK(tree.counts("bin/cc1plus", {}));
}

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

TEST_CASE("Option files that option files name count, and so does what they say") {
  const OptionFiles tree;
  tree.write("outer", "'-DA=1' @" + tree.path("inner") + "\n");
  CHECK(tree.counts("inner", {"@" + tree.path("outer")}));
  tree.write("inner", "-include\n\"" + tree.path("forced.h") + "\" -L" + tree.path("lib") + " -lf");
  CHECK(tree.counts("forced.h", {"@" + tree.path("outer")}));
  CHECK(tree.counts("lib/libf.a", {"@" + tree.path("outer")}));
  tree.write("macro", "-DHEADER='\"named.h\"'");
  CHECK(tree.counts("named.h", {"@" + tree.path("macro")}, "#include HEADER\n"));
  for (const std::string to : {"-Wl,", "-Wa,"}) {
    CHECK(tree.counts("passed_on", {to + "@" + tree.path("passed_on")}));
    CHECK(tree.counts("passed_on", {to + "-x,@" + tree.path("passed_on")}));
    tree.write("nested", "@" + tree.path("passed_on"));
    CHECK(tree.counts("passed_on", {to + "@" + tree.path("nested")}));
  }
  CHECK(tree.counts("profile/default.profdata", {"-fprofile-use=" + tree.path("profile")}));
  tree.write("inner", "@" + tree.path("outer"));  // a circle ends
  tree.text({"@" + tree.path("outer")});
  tree.write("inner", "@" + tree.path("inner") + " @" + tree.path("inner"));  // one that grows, too
  tree.text({"@" + tree.path("outer")});
}

TEST_CASE("An include that only compilers of earlier standards see counts") {
  const OptionFiles tree;
  CHECK(tree.counts("flag.h", {}, "?\?=include \"flag.h\"\n"));
  CHECK(tree.counts("flag.h", {}, "#inc?\?/\nlude \"flag.h\"\n"));
  CHECK(tree.counts("flag.h", {}, "// is it so?\?/\n#include \"flag.h\"\n"));
}

TEST_CASE("A header that macros name counts by being there where it is only asked for") {
  const OptionFiles tree;
  CHECK(tree.counts("flag.h", {}, "#define H \"flag.h\"\n#if __has_include(H)\n#endif\n"));
  CHECK(tree.counts("flag.h", {"-DH=\"flag.h\""}, "#if defined(__has_include) && __has_include( H )\n#endif\n"));
  CHECK(tree.counts("flag.h", {}, "#define N(x) <x.h>\n#if __has_include(N(flag))\n#endif\n") ==
        tree.counts("flag.h", {}, "#define N <flag.h>\n#if __has_include(N)\n#endif\n"));
  CHECK(scan_source("#ifdef __has_include\n#endif\n#if defined(__has_include)\n#endif\n").computed.empty());
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
  request.source = "#include <string.h>\n#include <vector>\n#include <sys/mman.h>\n";
  ScannedFiles read;
  CHECK(compile_closure(request, {shared_header_folders(), true}, read).canonical_text ==
        compile_closure(request).canonical_text);
  CHECK(read.empty());
}

TEST_CASE("Long names of the linker's options, thin archives and linker scripts count") {
  const OptionFiles tree;
  CHECK(tree.counts("lib/libf.a", {"-Wl,--library-path=" + tree.path("lib") + ",--library=f"}));
  tree.write("lib/libs.so", "INPUT(" + tree.path("real.a") + ")");
  tree.write("real.a", "one");
  const std::string before = tree.text({"-L" + tree.path("lib"), "-ls"});
  tree.write("real.a", "another");
  CHECK(tree.text({"-L" + tree.path("lib"), "-ls"}) != before);
}

TEST_CASE("Folders and files that any word names count, whatever the option is called") {
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
                                                  {"-Wp,-I," + inc},
                                                  {"--some-new-option=" + inc},
                                                  {"-some-flag" + inc}}) {
    CAPTURE(options[0]);
    CHECK(tree.counts("inc/s.h", options, source));
  }
  tree.write("inc/a.h", "#include \"s.h\"\n");
  const std::string forced = tree.path("inc/a.h");
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--include", forced},
                                                  {"--include=" + forced},
                                                  {"-Xclang", "-include", "-Xclang", forced},
                                                  {"--some-new-option=" + forced}}) {
    CAPTURE(options[0]);
    CHECK(tree.counts("inc/s.h", options));
  }
}
