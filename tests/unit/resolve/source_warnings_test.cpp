// Warnings of a source that defines the spec's parameters itself.
#include "core/resolve/source_warnings.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "system/files.hpp"

using namespace xtune;

namespace {

std::vector<std::string> warnings_of(const std::string& source, const std::string& header = "") {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "own.h") << header;
  std::ofstream(folder.path() / "k.cu") << source << "\nvoid k();\n";
  return resolve::source_warnings(spec::parse_spec(
      "[kernel]\nname = \"k\"\nsource = \"k.cu\"\noptions = [\"-DR={ROWS}\"]\n[space.params]\nBLOCK_X = [16, 32]\n"
      "ROWS = { values = [1, 2], compile_time = false }\n[launch]\ngrid = [1]\nblock = "
      "[\"BLOCK_X\"]\n[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [1]\nrole = \"out\"\n",
      "k.toml", folder.path()));
}

}  // namespace

TEST_CASE("a parameter that nothing names is reported") {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "own.h") << "#define SIZE (2 * DEEP)\n";
  const auto warnings = [&](const std::string& source) {
    std::ofstream(folder.path() / "k.cu") << source << "\nvoid k();\n";
    return resolve::source_warnings(spec::parse_spec(
        "[kernel]\nname = \"k\"\nsource = \"k.cu\"\nentry = \"k<{ENTRY}>\"\noptions = [\"-O{OPTION}\"]\n"
        "[space.params]\nENTRY = [1]\nOPTION = [1]\nGRID = [1]\nVALUE = [1]\nDEEP = [1]\nFANCY = [1, 2]\n"
        "[space]\nconstraints = [\"FANCY < 3\"]\n[launch]\ngrid = [\"GRID\"]\nblock = [1]\n[[args]]\nname = \"y\"\n"
        "dtype = \"f32\"\nshape = [1]\nrole = \"out\"\n[[args]]\nname = \"n\"\nkind = \"scalar\"\n"
        "dtype = \"i32\"\nvalue = \"VALUE\"\n",
        "k.toml", folder.path()));
  };
  const std::string includes = "#include \"own.h\"\n";
  CHECK(warnings(includes) ==
        std::vector<std::string>{"k.toml:12:1: neither the source nor launch, arguments or options "
                                 "name FANCY: its values give the same kernel"});
  CHECK(warnings("").size() == 2);
  CHECK(warnings(includes + "int x = FANCY;\n").empty());
  CHECK(warnings(includes + "#define NAME(a, b) a##b\n").empty());
}

TEST_CASE("a definition that replaces a parameter is reported, a default is not") {
  CHECK(warnings_of("// a kernel\n#  define BLOCK_X 16\n") ==
        std::vector<std::string>{"k.cu:2: BLOCK_X is a parameter of the spec, and this #define replaces its value: put "
                                 "it between #ifndef BLOCK_X and #endif"});
  CHECK(warnings_of("#define BLOCK_X\n").size() == 1);
  const std::vector<std::string> of_header = warnings_of("#include \"own.h\"\n", "#pragma once\n#define BLOCK_X 16\n");
  REQUIRE(of_header.size() == 1);
  CHECK(of_header.front().starts_with("own.h:2: BLOCK_X is a parameter of the spec, and this #define replaces"));
  for (const char* source :
       {"#ifndef BLOCK_X\n#define BLOCK_X 16\n#endif\n", "#if !defined(BLOCK_X)\n#define BLOCK_X 1\n#endif\n",
        "#define BLOCK_X2 16\n", "// #define BLOCK_X 16\n", "#define ROWS 4\n", "int x = BLOCK_X;\n#undef ROWS\n"}) {
    CAPTURE(source);
    CHECK(warnings_of(source).empty());
  }
}

TEST_CASE("kernels that their sources do not name are reported, and commands that are not there") {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "own.h") << "void of_header();\n";
  std::ofstream(folder.path() / "naive.cu") << "void naive();\n";
  const auto warnings = [&](const std::string& kernel, const std::string& reference) {
    return resolve::source_warnings(spec::parse_spec(
        "args = [{ name = \"y\", dtype = \"f32\", shape = [1], role = \"out\" }]\nlaunch = { grid = 1, block = 1 }\n" +
            ("validate = { reference = " + reference + " }\nkernel = { name = \"k\", " + kernel + " }\n"),
        "k.toml", folder.path()));
  };
  using Lines = std::vector<std::string>;
  const std::string code = "code = \"#include \\\"own.h\\\"\\n// gone\\nvoid scale();\"";
  const std::string none = "{ builtin = \"copy\", x = \"y\" }";
  CHECK(warnings(code + ", entry = \"scale\"", none).empty());
  CHECK(warnings(code + ", entry = \"ns::scale<4>\"", none).empty());
  CHECK(warnings(code + ", entry = \"of_header\"", none).empty());
  CHECK(warnings(code + ", entry = \"{'sca'}le\"", none).empty());
  CHECK(warnings("code = \"#define F(x) x##_y\"", none).empty());
  CHECK(warnings("code = \"int a;\", options = [\"-include\", \"own.h\"]", none).empty());
  CHECK(warnings(code + ", entry = \"scal\"", none) ==
        Lines{"k.toml:4:86: the kernel 'scal' is not in k.toml (did you mean 'scale'?)"});
  CHECK(warnings(code + ", entry = \"gone\"", none).size() == 1);
  const std::string good = code + ", entry = \"scale\"";
  CHECK(warnings(good, "{ kernel = \"scale\" }").empty());
  CHECK(warnings(good, "{ kernel = \"naive<1>\", source = \"naive.cu\" }").empty());
  CHECK(warnings(good, "{ kernel = \"naiv\", source = \"naive.cu\" }") ==
        Lines{"k.toml:3:26: the reference kernel 'naiv' is not in naive.cu (did you mean 'naive'?)"});
  CHECK(warnings(good, "{ kernel = \"naive\" }") ==
        Lines{"k.toml:3:26: the reference kernel 'naive' is not in k.toml"});
  CHECK(warnings(good, "{ command = [\"sh\", \"-c\", \"true\"] }").empty());
  CHECK(warnings(good, "{ command = \"python3 -c none.py\" }").empty());
  CHECK(warnings(good, "{ command = \"sh naive.cu none.py\" }").empty());
  CHECK(warnings(good, "{ command = \"python3 none.py {1}\" }") ==
        Lines{"k.toml:3:39: the reference command's file 'none.py' does not exist (paths are relative to the spec's "
              "directory)"});
  CHECK(warnings(good, "{ command = \"true\" }, validator = \"python3 none.py\"").size() == 1);
  CHECK(warnings(good, "{ command = \"true\" }, validator = \"xtune-no-such-program\"").size() == 1);
  const auto of_program = [&](const std::string& process) {
    return resolve::source_warnings(
        spec::parse_spec("kernel = { name = \"p\" }\nspace = { params = { A = [1, 2] } }\n[process]\n" + process,
                         "k.toml", folder.path()));
  };
  CHECK(of_program("run = \"python3 none.py {A}\"\n") ==
        Lines{"k.toml:4:7: the run's file 'none.py' does not exist (paths are relative to the spec's directory)"});
  CHECK(of_program("run = \"xtune-no-such-program {A}\"\n").size() == 1);
  CHECK(
      of_program("run = \"sh -c {A}\"\nexec_prefix = \"xtune-no-such-program\"\nvalidate = \"sh none.sh\"\n").size() ==
      2);
  CHECK(of_program("build = \"true {out}\"\nrun = \"python3 none.py {A}\"\n").empty());
  CHECK(warnings(good, "{ command = \"xtune-no-such-program {1}\" }") ==
        Lines{"k.toml:3:39: the reference command's program 'xtune-no-such-program' is not in PATH"});
  CHECK(
      warnings(good, "{ command = \"./gone.py\" }") ==
      Lines{"k.toml:3:39: the reference command's program './gone.py' is not an executable file (paths are relative to "
            "the spec's directory)"});
}
