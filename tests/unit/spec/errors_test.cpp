// Every mistake is refused at its line and column, with the offending word and the nearest valid one.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "specs.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

// Where `word` stands in text, as an error gives it.
std::string place(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  REQUIRE(at != std::string::npos);
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const auto start = text.rfind('\n', at);
  return "gemm.toml:" + std::to_string(line) + ":" +
         std::to_string(at - (start == std::string::npos ? 0 : start + 1) + 1);
}

// Replaces from by to; the error must stand at `word` (searched in the edited text) and contain `message`.
void refused(const std::string& from, const std::string& to, const std::string& word, const std::string& message) {
  const std::string text = edited(from, to);
  const std::string error = failure(text);
  CAPTURE(error);
  CAPTURE(to);
  CHECK(error.rfind("invalid_spec: " + place(text, word) + ": ", 0) == 0);
  CHECK(error.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("unknown keys and tables") {
  refused("fill = ", "fil = ", "fil = ", "unknown key 'fil' in [[args]] (did you mean 'fill'?)");
  refused("[metrics]", "[metrcs]", "metrcs", "unknown table '[metrcs]' in the spec (did you mean 'metrics'?)");
  refused("rep = 20", "repp = 20", "repp", "unknown key 'repp' in [measure] (did you mean 'rep'?)");
  refused("scale = \"pow2\"", "skale = \"pow2\"", "skale", "(did you mean 'scale'?)");
  refused("entry =", "entri =", "entri", "unknown key 'entri' in [kernel] (did you mean 'entry'?)");
  refused("[on.host.search]", "[on.hots.search]", "hots", "unknown key 'hots' in [on] (did you mean 'host'?)");
  refused("[on.host.search]\nevals", "[on.host.search]\nevils", "evils", "did you mean 'evals'?");
  refused("[on.host.problem]\nM", "[on.host.problem]\nMM", "MM", "'MM', which the spec itself does not have");
}

TEST_CASE("all unknown keys are reported at once, with the source and a caret") {
  const std::string text = edited("rtol = 1e-2", "rtl = 1e-2", edited("flush =", "flsh ="));
  CHECK(failure(text) == "invalid_spec: " + place(text, "rtl") +
                             ": unknown key 'rtl' in [validate] (did you mean 'rtol'?)\n  rtl = 1e-2\n  ^\n" +
                             place(text, "flsh") +
                             ": unknown key 'flsh' in [measure] (did you mean 'flush'?)\n  flsh = \"rotate\"\n  ^");
}

TEST_CASE("errors for wrong types name the expected and the given type") {
  refused("name = \"gemm\"", "name = 5", "5", "kernel.name: expected a string, got an integer");
  refused("evals = 100", "evals = \"many\"", "\"many\"", "evals: expected an integer, got a string");
  refused("rtol = 1e-2", "rtol = true", "true", "rtol: expected a number, got a boolean");
  refused("BLOCK_M = [64, 128]", "BLOCK_M = 64", "64\n",
          "BLOCK_M: expected an array of values or a table { min, max }, got an integer");
  refused("shape = [\"M\", \"N\"]", "shape = { N = 1 }", "{ N", "shape: expected a string or a number, got a table");
  CHECK(parse(edited("grid = [\"ceildiv(N, BLOCK_N)\", \"ceildiv(M, BLOCK_M)\"]", "grid = \"N\"")).launch.grid.size() ==
        1);
  refused("compile_time = false", "compile_time = 0", "0 }",
          "RASTER.compile_time: expected true or false, got an integer");
  refused("M = 4096", "M = 1979-05-27", "1979", "M: expected a number, a string or a boolean, got a date or time");
  refused("M = 4096", "M = nan", "nan", "expected a finite number, got nan");
  refused("[metrics]\nTFLOPS", "[metrics]\nTFLOPS = 1979-05-27\nX", "1979", "got a date or time");
  refused("[metrics]\nTFLOPS", "[metrics]\ntime_ms", "time_ms", "the metric 'time_ms' would stand beside");
  refused("[metrics]\nTFLOPS", "[metrics]\nBLOCK_M", "BLOCK_M = \"2", "is a parameter or a name of [problem] as well");
  CHECK(failure("kernel = 3\n").find("gemm.toml:1:10: [kernel]: expected a table, got an integer") !=
        std::string::npos);
  CHECK(failure("[kernel]\nname=\"a\"\n[args]\nx=1\n").find("expected an array of tables, [[args]], got a table") !=
        std::string::npos);
  refused("evals = 100", "evals = 0", "0\n\n[metrics]", "evals = 0 is less than 1");
  refused("rtol = 1e-2", "rtol = -1.0", "-1.0", "rtol = -1.0 is less than 0.0");
}

TEST_CASE("derived names that cannot be") {
  const auto derived = [](const std::string& lines, const std::string& word, const std::string& message) {
    refused("[space]\n", "[derived]\n" + lines + "[space]\n", word, message);
  };
  derived("B-C = \"1\"\n", "B-C", "is not a C identifier");
  derived("M = \"1\"\n", "M = \"1", "'M' is also a name of [problem]");
  derived("BLOCK_M = \"1\"\n", "BLOCK_M = [64", "'BLOCK_M' is a parameter and a name of [derived]");
}

TEST_CASE("a parameter that is a macro has no line ends") {
  refused("[space.params]\n", "[space.params]\nLINES = [\"1\\n#include 'x.h'\"]\n", "[\"1\\n",
          "the value '1\\n#include 'x.h'' of LINES holds a line end");
  const std::string runtime =
      edited("[space.params]\n", "[space.params]\nLINES = { values = [\"1\\n2\"], compile_time = false }\n");
  CHECK(failure(runtime).find("line end") == std::string::npos);
}

TEST_CASE("mode and flush that contradict each other") {
  refused("flush = \"rotate\"", "flush = \"rotate\"\nmode = \"hot\"", "\"hot\"", "remove one of the two");
  refused("flush = \"rotate\"", "flush = \"none\"\nmode = \"cold\"", "\"cold\"", "remove one of the two");
  refused("flush = \"rotate\"", "mode = \"warm\"", "\"warm\"", "one of cold, hot");
}

TEST_CASE("dispatch: a radius is a distance, and the default one of the values") {
  const auto dispatch = [](const std::string& line, const std::string& word, const std::string& message) {
    refused("[metrics]", "[dispatch]\n" + line + "\n[metrics]", word, message);
  };
  dispatch("radius = -1", "-1", "radius");
  dispatch("radius = \"far\"", "\"far\"", "radius");
  dispatch("radios = 1", "radios", "did you mean 'radius'?");
  dispatch("default = { BLOCK_X = 64 }", "BLOCK_X", "dispatch.default: 'BLOCK_X' is not a parameter");
  dispatch("default = { BLOCK_M = 63 }", "63", "dispatch.default: BLOCK_M = 63 is not among its values");
  dispatch("default = 977", "977", "dispatch.default");
  refused("rtol = 1e-2", "time_reference = \"no\"", "\"no\"", "time_reference");
}

TEST_CASE("the commonest slips of TOML are answered with what to write") {
  CHECK(failure(edited("shape = [\"M\", \"N\"]", "shape = [rows, cols]")).find("other text in quotes") !=
        std::string::npos);
  CHECK(failure("[kernel]\nname = \"a\"\n[args]\nx = 1\n[args]\ny = 1\n").find("begins with [[args]]") !=
        std::string::npos);
}

TEST_CASE("unknown words") {
  refused("dtype = \"f16\"", "dtype = \"fp16\"", "\"fp16\"", "dtype: unknown word 'fp16' (did you mean 'f16'?)");
  for (const auto& [other, own] : {std::pair("float32", "f32"), {"float", "f32"}, {"half", "f16"}, {"int", "i32"}})
    refused("dtype = \"f16\"", std::string("dtype = \"") + other + "\"", std::string("\"") + other + "\"",
            std::string("dtype: unknown word '") + other + "' (did you mean '" + own + "'?); one of f8e4m3, f8e5m2");
  refused("fill = \"zero\"", "fill = \"zeros\"", "\"zeros\"", "(did you mean 'zero'?)");
  refused("flush = \"rotate\"", "flush = \"l1\"", "\"l1\"", "(did you mean 'l2'?)");
  refused("role = \"inout\"", "role = \"input\"", "\"input\"", "one of in, out, inout");
}

TEST_CASE("names in expressions: the column inside the string, the nearest name, and where it may stand") {
  refused("// THREADS <=", "// THREDS <=", "THREDS", "unknown name 'THREDS' in a constraint (did you mean 'THREADS'?)");
  refused("device.shared_per_block_optin", "shared_per_block_optin", "shared_per_block_optin",
          "(did you mean 'device.shared_per_block_optin'?)");
  refused("device.shared_per_block_optin", "device.shared_per_blok_optin", "device.shared_per_blok",
          "did you mean 'device.shared_per_block_optin'?");
  refused("shape = [\"M\", \"N\"]", "shape = [\"M\", \"BLOCK_M\"]", "BLOCK_M\"]",
          "the parameter 'BLOCK_M' cannot be used in a shape");
  refused("{BLOCK_M // 2}", "{BLOK_M // 2}", "BLOK_M", "(did you mean 'BLOCK_M'?)");
  refused("={MAXREG}", "={ MAXREGS }", "MAXREGS", "did you mean 'MAXREG'?");
  refused("shared = \"BLOCK_M * 4\"", "shared = \"time_s\"", "time_s\"", "'time_s' is known to metrics only");
  refused("\"ALPHA * RASTER\"", "\"-inf\"", "inf\"", "unknown name 'inf' in a value (did you mean float('inf')?)");
  refused("shape = [\"M\", \"N\"]", "shape = [\"M\", inf]", "inf]", "must be an integer, and this is the float inf");
  CHECK(parse(edited("\"ALPHA * RASTER\"", "-inf")).args.back().value->text == "float('-inf')");
  refused("ALPHA * RASTER", "BETA * RASTER", "BETA", "unknown name 'BETA' in a value; known: ");
  refused("2 * M * N / time_s", "2 * M * N / tim_s", "tim_s", "did you mean 'time_s'?");
}

TEST_CASE("bad expressions and templates") {
  refused("BLOCK_M * 4 <=", "BLOCK_M * <=", "<= device", "expected a value, got '<='");
  refused("ceildiv(N, BLOCK_N)", "ceildv(N, BLOCK_N)", "ceildv", "unknown function 'ceildv' (did you mean 'ceildiv'?)");
  refused("{MAXREG}", "{MAXREG", "{MAXREG\"", "'{' is not closed");
  refused("{MAXREG}", "MAXREG}", "}\"]", "'}' without '{'");
  refused("{MAXREG}", "{}", "}\"]", "the expression is empty");
  CHECK(failure(edited("\"BLOCK_M * 4\"", "\"\"\"\nBLOCK_M *\n  WIDTH\"\"\""))
            .find("gemm.toml:31:3: unknown name 'WIDTH'") != std::string::npos);
}

TEST_CASE("expressions that use only the problem are computed at once") {
  refused("block = [\"THREADS\", 1]", "block = [\"M // (N - 1024)\"]", "// (N",
          "division by zero (M = 4096, N = 1024)");
  refused("block = [\"THREADS\", 1]", "block = [\"THREADS\", 0]", "0]\nshared",
          "a launch size must be at least 1, and this is 0");
  refused("block = [\"THREADS\", 1]", "block = [\"M / 3\"]", "M / 3", "a launch size must be an integer");
  refused("shape = [\"M\", \"N\"]", "shape = [\"M - 5000\", \"N\"]", "M - 5000",
          "a shape must be at least 1, and this is -904");
  const std::string cases = good + "[[cases]]\nALPHA = 2\n[[cases]]\nALPHA = 0\n";
  CHECK(failure(edited("\"2 * M * N / time_s / 1e12\"", "\"M // ALPHA\"", cases))
            .find("division by zero (ALPHA = 0.0, M = 4096)") != std::string::npos);
}

TEST_CASE("the space: empty, duplicate and mixed values, ranges, names") {
  refused("BLOCK_M = [64, 128]", "BLOCK_M = []", "[]", "BLOCK_M has an empty list of values");
  refused("BLOCK_M = [64, 128]", "BLOCK_M = [64, 128, 64]", "64]", "BLOCK_M has the value 64 twice");
  refused("BLOCK_M = [64, 128]", "BLOCK_M = [64, 1.5]", "1.5]", "BLOCK_M mixes integer and float values");
  refused("BLOCK_M = [64, 128]", "BLOCK_M = [64, inf]", "inf]", "expected a finite number, got inf");
  refused("min = 32", "min = 33", "33", "BLOCK_N.min = 33 is not a power of two");
  refused("min = 32", "min = 256", "{ min = 256", "BLOCK_N is an empty range");
  refused("min = 128, max = 256", "min = 512, max = 256", "{ min = 512", "THREADS is an empty range");
  refused("step = 128", "step = 0", "0 }", "THREADS.step = 0 is less than 1");
  refused("max = 256, step", "step", "{ min = 128", "THREADS has no max");
  refused("max = 256, step = 128", "max = 9000000000, step = 1", "{ min = 128, max", "more than 1000000 values");
  refused("scale = \"pow2\"", "scale = \"pow2\", step = 2", "step = 2", "exclude each other");
  refused("BLOCK_M = [64, 128]", "BLOCK_M = [64, 128]\nM = [1]", "M = [1]",
          "'M' is a parameter and a name of [problem]");
  refused("LAYOUT =", "\"LAY-OUT\" =", "\"LAY-OUT\"", "'LAY-OUT' is not a C identifier");
  refused("LAYOUT =", "and =", "and =", "has its own meaning");
  for (const char* quantity : {"registers", "energy_j", "repeatable", "shared_bytes", "spilled_bytes"})
    refused("LAYOUT =", std::string(quantity) + " =", std::string(quantity) + " =",
            std::string("parameter '") + quantity + "' is a quantity that xtune measures");
  refused("ALPHA =", "registers =", "registers =", "problem name 'registers' is a quantity that xtune measures");
  refused("HALF =", "MAXREG =", "MAXREG = \"{BL", "'MAXREG' is a parameter");
}

TEST_CASE("arguments and launch") {
  refused("name = \"C\"", "name = \"A\"", "\"A\"\ndtype = \"f32\"", "duplicate argument 'A', first at line");
  refused("shape = [\"M\", \"N\"]\n\n", "\n", "[[args]]", "the buffer 'A' has no shape");
  refused("value = \"ALPHA * RASTER\"", "", "[[args]]\nname = \"alpha\"", "the scalar 'alpha' has no value");
  refused("value = \"ALPHA * RASTER\"", "value = 1\nshape = [1]", "shape = [1]", "the scalar 'alpha' has no shape");
  refused("kind = \"scalar\"", "kind = \"texture\"", "\"texture\"",
          "unknown word 'texture'; one of buffer, scalar, constant, tensor_map");
  const std::string integers = "dtype = \"i32\"\nfill = { integers = ";
  refused("dtype = \"f16\"", integers + "[0, 4], sorted = [0, 4] }", "{ integers", "expected a word or { integers");
  refused("dtype = \"f16\"", integers + "[0, \"BLOCK_M\"] }", "BLOCK_M\"]", "BLOCK_M");
  refused("dtype = \"f16\"", "dtype = \"i32\"\nfill = { integer = [0, 4] }", "integer = [", "did you mean 'integers'");
  refused("fill = \"zero\"", "fill = \"zero\"\nfile = \"c.npy\"", "file = \"c", "exclude each other");
  refused("fill = \"zero\"", "file = \"missing.npy\"", "\"missing.npy\"", "does not exist");
  refused("block = [\"THREADS\", 1]", "block = [1, 1, 1, 1]", "[1, 1, 1, 1]",
          "launch.block needs 1 to 3 entries, for x, y and z, got 4");
  refused("block = [\"THREADS\", 1]", "", "[launch]", "[launch] has no block");
  refused("block = [\"THREADS\", 1]", "block = []", "[]", "needs 1 to 3 entries");
  CHECK(failure("[kernel]\nname = \"k\"\nsource = \"gemm.cu\"\n[launch]\ngrid = [1]\nblock = [1]\n")
            .find("no [[args]]") != std::string::npos);
  CHECK(failure("[kernel]\nname = \"k\"\nsource = \"gemm.cu\"\n").find("no table [launch]") != std::string::npos);
  const std::string kokkos = "[kernel]\nname = \"k\"\nbackend = \"kokkos\"\nsource = \"gemm.cu\"\n";
  CHECK(failure(kokkos + "[space.params]\nA = [1]\n[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [4]\n") ==
        "no error");
  CHECK(failure(kokkos + "[launch]\ngrid = [1]\nblock = [1]\n").find("a Kokkos unit launches itself") !=
        std::string::npos);
  CHECK(failure("[kernel]\nname = \"k\"\n[space.params]\nA=[1]\n[launch]\ngrid=[1]\nblock=[1]\n")
            .find("[kernel] has no source") != std::string::npos);
  CHECK(failure("[kernel]\nname = \"k\"\n").find("neither a source in [kernel] nor parameters") != std::string::npos);
  CHECK(failure(good + "[[cases]]\nM = 1\n[[cases]]\nM = 1\n").find("duplicate case: the same problem as case 1") !=
        std::string::npos);
  CHECK(failure(good + "[[cases]]\nM = 3\n[[cases]]\nM = 1\n[[cases]]\nM = 1\n").find("as case 2") !=
        std::string::npos);
  CHECK(failure(good + "[[cases]]\nMM = 1\n").find("unknown problem name 'MM' in [[cases]]") != std::string::npos);
  CHECK(failure(good + "[[cases]]\nM = 1.5\n").find("M is integer in [problem], got float") != std::string::npos);
}

TEST_CASE("checks and inputs") {
  refused("rtol = 1e-2", "validator = []", "[]\n\n[measure]", "validator is empty: give the words of a program's call");
  refused("rtol = 1e-2", "validator = \"a | b\"", "| b", "'|' needs a shell, and none is used");
  refused("rtol = 1e-2", "check = \"run {BLOCK_M}\"", "BLOCK_M}\"\n\n[measure]", "'BLOCK_M' cannot be used in a text");
  refused("rtol = 1e-2", "inputs = \"new\"", "\"new\"", "inputs: unknown word 'new'");
  refused("reference = { kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256] }",
          "reference = { file = \"naive.cu\" }\ninputs = \"fresh\"", "\"fresh\"",
          "inputs = \"fresh\" needs a reference that can be computed for new inputs");
  const Spec spec = parse(edited("rtol = 1e-2", "check = [\"python3\", \"check.py\", \"{M}\"]\ninputs = \"fresh\""));
  CHECK(spec.validate.check.size() == 3);
  CHECK(spec.validate.inputs == Inputs::fresh);
  CHECK(validates(spec));
}

TEST_CASE("scratch buffers") {
  const auto scratch = [&](const std::string& rest, const std::string& at, const std::string& message) {
    refused("fill = \"zero\"", rest, at, message);
  };
  refused("role = \"inout\"\nfill = \"zero\"", "role = \"scratch\"\nfill = \"zero\"", "fill = \"zero\"",
          "the scratch buffer 'C', whose contents are never used, has no fill");
  refused("role = \"inout\"\nfill = \"zero\"", "role = \"scratch\"\nzero = 1", "1\n\n[[args]]",
          "zero: expected true or false");
  scratch("zero = true", "zero = true", "zero is for buffers with role = \"scratch\"");
  // With the only output gone, nothing is left to compare.
  refused("role = \"inout\"\nfill = \"zero\"", "role = \"scratch\"", "{ kernel = \"naive\"",
          "no argument has role out or inout, so there is nothing to validate");
}

TEST_CASE("constants") {
  const std::string scalar = "kind = \"scalar\"\ndtype = \"f32\"\nvalue = \"ALPHA * RASTER\"";
  const auto constant = [&](const std::string& rest, const std::string& at, const std::string& message) {
    refused(scalar, "kind = \"constant\"\ndtype = \"f32\"\n" + rest, at, message);
  };
  constant("role = \"in\"\nshape = [4]", "role = \"in\"", "the constant 'alpha' has no role");
  constant("", "[[args]]\nname = \"alpha\"", "the constant 'alpha' has no shape");
  constant("value = 1\nshape = [1]", "shape = [1]", "the constant 'alpha', which has a value, has no shape");
  constant("value = \"BLOCK_M\"", "BLOCK_M\"\n\n[validate]", "the parameter 'BLOCK_M' cannot be used in a value");
  constant("shape = [\"BLOCK_M\"]", "BLOCK_M\"]\n\n[validate]", "the parameter 'BLOCK_M' cannot be used in a shape");
  constant("shape = [4]\nsymbol = \"\"", "\"\"\n\n[validate]", "symbol is empty");
  constant("shape = [4]\nsymbol = \"f<{BLOCK}>\"", "BLOCK}>", "unknown name 'BLOCK'");
  constant("shape = [4]\nfill = \"one\"\nfile = \"gemm.cu\"", "file = \"gemm.cu\"", "exclude each other");
  refused("fill = \"zero\"", "symbol = \"c\"", "symbol = \"c\"", "the buffer 'C' has no symbol");
  CHECK(failure("[kernel]\nname = \"k\"\nbackend = \"kokkos\"\nsource = \"gemm.cu\"\n[space.params]\nA = [1]\n"
                "[[args]]\nname = \"x\"\nkind = \"constant\"\ndtype = \"f32\"\nshape = [4]\n")
            .find("a Kokkos unit has no variables that xtune fills") != std::string::npos);
}

TEST_CASE("references") {
  const std::string kernel = "{ kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256] }";
  refused(kernel, "{ command = \"./check | tee\" }", "| tee", "'|' needs a shell, and none is used");
  refused(kernel, "{ command = [] }", "[] }", "command is empty");
  refused(kernel, "{ command = \"run {BLOCK_M}\" }", "BLOCK_M}\"", "'BLOCK_M' cannot be used in a text");
  refused(kernel, "{ }", "{ }", "needs exactly one of kernel, config, builtin, file and command, got none");
  refused(kernel, "{ kernel = \"k\", builtin = \"gemm\" }", "{ kernel", "got kernel and builtin");
  refused(kernel, "{ kernel = \"k\", grid = [1] }", "grid = [1]", "needs both grid and block");
  refused(kernel, "{ builtin = \"gemm\", output = \"D\" }", "\"D\"", "'D' is not an argument with role out or inout");
  refused(kernel, "{ builtin = \"gemm\", a = \"B\" }", "B\" }", "unknown name 'B' in a reference");
  refused(kernel, "{ kernel = \"k\", sorce = \"naive.cu\" }", "sorce", "did you mean 'source'?");
  refused(kernel, "{ file = \"d.npy\" }", "\"d.npy\"", "does not exist");
  refused("role = \"inout\"\nfill = \"zero\"", "", kernel, "there is nothing to validate");
  const std::string two =
      edited("fill = \"zero\"", "fill = \"zero\"\n[[args]]\nname=\"D\"\ndtype=\"f32\"\nshape=[1]\nrole=\"out\"");
  CHECK(failure(two) == "no error");
  CHECK(failure(edited(kernel, "{ file = \"c.npy\" }", two))
            .find("does not say which output it describes: add output = \"C\"") != std::string::npos);
}

TEST_CASE("a source in the spec") {
  const std::string source = "source = \"gemm.cu\"";
  refused(source, source + "\ncode = 'int a;'", "code", "kernel.code and kernel.source exclude each other");
  refused(source, "code = ' '", "' '", "kernel.code is empty: give the kernel's source, or name its file with source");
  refused(source, "code = 5", "5", "kernel.code: expected a string, got an integer");
  refused(source, "code = \"\"\"\nputs(\"a\\n\");\n\"\"\"", "\"\"\"", "Write it between ''' and '''");
  CHECK(failure(edited(source, "code = \"\"\"\nputs(\"a\");\n\"\"\"")) == "no error");
  CHECK(failure("kernel = { name = \"a\", code = \"int a;\" }\nprocess = { run = \"ls\" }\n")
            .find("[process] and kernel.code exclude each other") != std::string::npos);
}

TEST_CASE("a type that the problem decides on") {
  const std::string text = edited("M = 4096", "M = 4096\nTYPE = \"f16\"\nWIDE = false");
  const auto with = [&](const std::string& dtype) {
    return edited("dtype = \"f16\"", "dtype = \"" + dtype + "\"", text);
  };
  const auto error = [&](const std::string& dtype) { return failure(with(dtype)); };
  CHECK(error("{TYPE}") == "no error");
  CHECK(error("{'f32' if WIDE else TYPE}") == "no error");
  CHECK(error("{TYP}").find("dtype: 'TYP' is not a name of [problem], and only these may decide on a type") !=
        std::string::npos);
  CHECK(error("{BLOCK_M}").find("'BLOCK_M' is not a name of [problem]") != std::string::npos);
  CHECK(error("f{M}").find("'M' is a number, and problems that differ in numbers may answer for each other") !=
        std::string::npos);
  CHECK(error("{TYPE").find("'{' is not closed") != std::string::npos);
  CHECK(error("{TYPE}x").find("dtype: unknown word 'f16x' (did you mean 'f16'?); one of f8e4m3,") != std::string::npos);
  // Of whichever case.
  CHECK(failure(with("{TYPE}") + "[[cases]]\n[[cases]]\nTYPE = \"float\"\n")
            .find("dtype: unknown word 'float' (did you mean 'f32'?)") != std::string::npos);
  CHECK(failure(with("{TYPE}"), {{{"TYPE", "i31"}}, ""}).find("(did you mean 'i32'?)") != std::string::npos);
  CHECK(failure(edited("rtol = 1e-2", "accumulate = \"{TYPE}\"", text), {{{"TYPE", "i32"}}, ""})
            .find("accumulate: 'i32' is not a real floating-point type") != std::string::npos);
}

TEST_CASE("text without quotes is called that, whatever it begins like") {
  for (const char* word : {"rows", "N", "iterations", "twice", "fast", "naive"}) {
    CAPTURE(word);
    CHECK(failure(edited("shape = [\"M\", \"N\"]", "shape = [" + std::string(word) + "]"))
              .find(". Write names, expressions and other text in quotes\n") != std::string::npos);
  }
}

TEST_CASE("arguments that do not say what they are") {
  const Spec spec = parse(edited("kind = \"scalar\"\n", ""));
  CHECK(spec.args[2].kind == ArgKind::scalar);
  CHECK(spec.args[2].value->text == "ALPHA * RASTER");
  refused("kind = \"scalar\"\n", "shape = [1]\n", "value = \"ALPHA",
          "the buffer 'alpha' has no value: a scalar has one");
  refused("kind = \"scalar\"\ndtype = \"f32\"\nvalue = \"ALPHA * RASTER\"", "dtype = \"f32\"",
          "[[args]]\nname = \"alpha\"", "'alpha' has no shape (a scalar has value = ... instead)");
  refused("dtype = \"f16\"", "dtype = \"nv_bfloat16\"", "\"nv_bfloat16\"", "(did you mean 'bf16'?)");
}

TEST_CASE("a reference at one configuration names parameters and their values") {
  const std::string kernel = "{ kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256] }";
  refused(kernel, "{ config = { BLOCK_M = 65 } }", "65 }",
          "validate.reference.config: BLOCK_M = 65 is not among its values, [64, 128]");
  refused(kernel, "{ config = { BLOCK_K = 64 } }", "BLOCK_K", "'BLOCK_K' is not a parameter (did you mean 'BLOCK_M'?)");
  refused(kernel, "{ config = { BLOCK_M = \"64\" } }", "\"64\"", "BLOCK_M is integer in [space.params], got string");
  refused(kernel, "{ config = [64] }", "[64]", "validate.reference.config: expected a table, got an array");
  refused(kernel, "{ config = {}, grid = [1] }", "grid = [1]", "unknown key 'grid' in validate.reference");
  refused(kernel, "{ config = {}, kernel = \"k\" }", "{ config", "got kernel and config");
  const std::string on_host = failure(edited(kernel, "{ config = { BLOCK_M = 128 } }"), {{}, "host"});
  CHECK(on_host.find("BLOCK_M = 128 is not among its values, [8, 16] on host; [on.host.validate] can give another "
                     "reference") != std::string::npos);
}

TEST_CASE("tolerances") {
  refused("rtol = 1e-2", "outlier_factor = 0.5", "0.5\n", "outlier_factor = 0.5 is less than 1");
  refused("rtol = 1e-2", "reduction = \"BLOCK_M\"", "BLOCK_M\"\n", "'BLOCK_M' cannot be used in a reduction length");
  refused("rtol = 1e-2", "reduction = \"M - 5000\"", "M - 5000", "a reduction length must be at least 0");
  refused("rtol = 1e-2", "accumulate = \"i32\"", "\"i32\"", "is not a real floating-point type");
  refused("rtol = 1e-2", "accumulate = \"f31\"", "\"f31\"", "accumulate: unknown word 'f31' (did you mean 'f32'?)");
}

TEST_CASE("a misspelt form of a reference is named, with the nearest") {
  const std::string kernel = "{ kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256] }";
  refused(kernel, "{ kernal = \"naive\" }", "kernal",
          "unknown key 'kernal' in validate.reference (did you mean 'kernel'?)");
  refused(kernel, "{ builtn = \"gemm\", a = \"A\", b = \"A\" }", "builtn", "(did you mean 'builtin'?)");
  CHECK(failure(edited(kernel, "{ builtn = \"gemm\", a = \"A\" }")).find("'a'") == std::string::npos);
}

TEST_CASE("parameters whose macros would break every kernel are refused where they stand") {
  for (const char* word : {"float", "template", "int", "x", "reinterpret_cast", "defined", "__LINE__"})
    refused("LAYOUT =", std::string(word) + " =", std::string(word) + " = [\"row",
            std::string("the parameter '") + word + "' is ");
  refused("LAYOUT =", "threadIdx =", "threadIdx", "is a built-in name of CUDA and HIP, and -D threadIdx=... would");
  // Values that the compiler does not see do no harm.
  CHECK(failure(edited("LAYOUT = [\"row\", \"column\"]", "x = { values = [1], compile_time = false }")) == "no error");
  CHECK(failure("[kernel]\nname = \"space\"\n[space.params]\nfloat = [1]\n") == "no error");
  CHECK(failure(edited("LAYOUT =", "floats =")) == "no error");
}

TEST_CASE("a source that is not a file is reported with what it is") {
  const TemporaryDirectory folder;
  const auto error = [&](const std::string& name) {
    const std::string text = edited("source = \"gemm.cu\"", "source = \"" + (folder.path() / name).string() + "\"");
    const std::string message = failure(text);
    CHECK(message.find(": kernel.source '") != std::string::npos);
    return message;
  };
  std::filesystem::create_symlink("loop.cu", folder.path() / "loop.cu");
  std::filesystem::create_symlink("nowhere.cu", folder.path() / "dangling.cu");
  REQUIRE(mkfifo((folder.path() / "pipe.cu").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/null", folder.path() / "null.cu");
  CHECK(error("loop.cu").find("loop.cu cannot be read: ") != std::string::npos);
  CHECK(error("dangling.cu").find("is a symbolic link to nowhere.cu, which does not exist") != std::string::npos);
  CHECK(error("pipe.cu").find("pipe.cu is a pipe, not a file") != std::string::npos);
  CHECK(error("null.cu").find("null.cu is a device, not a file") != std::string::npos);
  CHECK(error("missing.cu").find("missing.cu does not exist") != std::string::npos);
  if (geteuid() == 0) return;  // root may read everything
  write_file_atomically(folder.path() / "secret.cu", "");
  std::filesystem::permissions(folder.path() / "secret.cu", std::filesystem::perms::none);
  CHECK(error("secret.cu").find("secret.cu cannot be read: Permission denied") != std::string::npos);
}

TEST_CASE("missing sources are refused with the path") {
  const std::string error = failure(edited("source = \"gemm.cu\"", "source = \"sub/missing.cu\""));
  CHECK(error.find("gemm.toml:3:10: kernel.source 'sub/missing.cu': /") != std::string::npos);
  CHECK(error.find("/sub/missing.cu does not exist (paths are relative to the spec's directory)") != std::string::npos);
  CHECK(failure(edited("source = \"gemm.cu\"", "source = \".\"")).find("is a directory") != std::string::npos);
  CHECK(failure(edited("source = \"gemm.cu\"", "source = \"\"")).find("empty") != std::string::npos);
  CHECK(failure(edited("name = \"gemm\"", "name = \"../gemm\"")).find("cannot name a directory of the store") !=
        std::string::npos);
}

TEST_CASE("mistakes in another backend's overlay are found on every machine") {
  CHECK(failure(good + "[on.cuda.space.params]\nBLOCK_M = []\n", {{}, "host"}).find("empty list") != std::string::npos);
  CHECK(failure(good + "[on.cuda]\nmesure = { rep = 1 }\n")
            .find("unknown key 'mesure' in [on.cuda] (did you mean 'measure'?)") != std::string::npos);
  CHECK(failure(good + "[on.cuda.kernel]\nsource = \"x.cu\"\n").find("unknown key 'source' in [on.cuda.kernel]") !=
        std::string::npos);
}

TEST_CASE("files that are not specs") {
  CHECK(failure("").find("gemm.toml:1:1: the spec is empty") != std::string::npos);
  CHECK(failure("# nothing\n").find("the spec is empty") != std::string::npos);
  CHECK(failure("[space]\n").find("no table [kernel]") != std::string::npos);
  CHECK(failure(std::string("\x7f"
                            "ELF\0\0\x02",
                            8))
            .find("gemm.toml:1:5: a zero byte: this is not a text file") != std::string::npos);
  CHECK(failure("[kernel]\nname = \"\xff\xfe\"\n").find("gemm.toml:2:") != std::string::npos);
  CHECK(failure("[kernel\n").find("gemm.toml:1:8: ") != std::string::npos);
  CHECK(failure("[kernel]\nname = \"a\"\nname = \"b\"\n").find("gemm.toml:3:") != std::string::npos);
  CHECK(failure("a = 1\n[[[x]]]\n").find("gemm.toml:2:1: this is not TOML") != std::string::npos);
  CHECK(failure("a = " + std::string(100000, '[')).find("nested") != std::string::npos);
  // Characters that TOML has no use for where they stand; strings and comments may hold any.
  const std::string letter = "\xC3\xA4", form = "\xEF\xB9\xBF";
  CHECK(failure("[kernel]\n# " + letter + "\nn = '" + letter + "' # \"\nm = \"\\\"" + letter + "\"\ngr" + letter +
                " = 1\n")
            .find("gemm.toml:5:3: '" + letter + "' outside of strings") != std::string::npos);
  CHECK(failure("[ke" + form + "rnel]\n").find("gemm.toml:1:4: ") != std::string::npos);
  const std::string lines = "a = \"\"\"\n" + letter + " \\\"\"\"\"\nb = '''\n" + letter + "\"'''\n";
  CHECK(failure(lines + "c =" + form + "1\n").find("gemm.toml:5:4: ") != std::string::npos);
  CHECK(failure("a = \"not closed\n" + letter + " = 1\n").find("gemm.toml:2:1: ") != std::string::npos);
  std::string keys = "a";
  for (int i = 0; i < 100000; ++i) keys += ".a";
  CHECK(failure(keys + " = 1\n").find("more than 32 parts") != std::string::npos);
  CHECK(failure("[" + keys + "]\n").find("more than 32 parts") != std::string::npos);
}

TEST_CASE("a source in place of a spec is called one") {
  for (const std::string name : {"scale.cu", "tune.py"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(parse_spec("// Scales x.\n__global__ void scale(float* x) { x[0] *= 2; }\n", name, "."),
                         doctest::Contains((name + ": this is a source file, not a spec").c_str()), Error);
  }
}

TEST_CASE("a line may be as long as the file, with its places still right") {
  // Time quadratic in the line's length would end in the test's timeout.
  const std::string letter = "\xC3\xA4";
  std::string line = "constraints = [\"X != '" + letter + "'\", ";
  for (int i = 0; i < 100'000; ++i) line += "\"X != 'value " + std::to_string(i) + "'\", ";
  const std::string rest = "]\n[space.params]\nX = [\"a\", \"b\"]\n";
  const Spec spec = parse("[kernel]\nname = \"k\"\n[space]\n" + line + rest);
  REQUIRE(spec.constraints.size() == 100'001);
  CHECK(spec.constraints.back().at.column == line.size() - 1 - 2 - std::string("\"X != 'value 99999'").size() + 1);
  CHECK(failure("[kernel]\nname = \"k\"\n[space]\n" + line + "\"Z > 1\"" + rest)
            .find("gemm.toml:4:" + std::to_string(line.size() - 1 + 2) + ": unknown name 'Z'") != std::string::npos);
}

TEST_CASE("files on disk: missing, a directory, far too large") {
  const TemporaryDirectory directory;
  const auto kind = [](const std::filesystem::path& path) {
    try {
      load_spec(path);
      return std::string("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(path.filename().string()) != std::string::npos);
      return std::string(to_string(error.kind()));
    }
  };
  CHECK(kind(directory.path() / "missing.toml") == "io");
  CHECK(kind(directory.path()) == "io");
  const auto large = directory.path() / "large.toml";
  write_file_atomically(large, "#");
  std::filesystem::resize_file(large, 100'000'000);  // sparse: refused by its size, before it is read
  CHECK(kind(large) == "invalid_spec");
  write_file_atomically(directory.path() / "gemm.cu", "");
  write_file_atomically(directory.path() / "naive.cu", "");
  write_file_atomically(directory.path() / "gemm.toml", good);
  CHECK(load_spec(directory.path() / "gemm.toml").kernel.source == directory.path() / "gemm.cu");
}

TEST_CASE("a bad value of an overlay is refused where it stands") {
  refused("M = 256", "M = [1]", "[1]", "M: expected a number, a string or a boolean, got an array");
  CHECK(failure(edited("M = 256", "M = \"x\"")).find("a shape must be an integer, and this is the string x (M = x)") !=
        std::string::npos);
}

TEST_CASE("parameters whose values belong together") {
  const auto rows = [](const std::string& with, const std::string& word, const std::string& message) {
    refused("BLOCK_M = [64, 128]", with, word, message);
  };
  rows("\"BLOCK_M, X_2\" = [[64], [128, 1]]", "[64]",
       "\"BLOCK_M, X_2\": expected a list of 2 values, one for each name");
  rows("\"BLOCK_M, X_2\" = [64, 128]", "64, 128", "got an integer");
  rows("\"BLOCK_M, X_2\" = [[64, 1], [64, 1]]", "[64, 1]]", "has this row twice");
  rows("\"BLOCK_M, X_2\" = [[64, 1], [64, 'a']]", "'a'", "X_2 mixes integer and string values");
  rows("\"BLOCK_M, X_2\" = [[64, [1]]]", "[1]", "X_2: expected a number, a string or a boolean");
  rows("\"BLOCK_M, X_2\" = []", "[]", "has an empty list of rows");
  rows("\"BLOCK_M, X_2\" = 3", "3\nBLOCK_N", "expected an array, got an integer");
  rows("\"BLOCK_M, X_2\" = { min = 1 }", "min", "unknown key 'min'");
  rows("\"BLOCK_M, \" = [[64, 1]]", "\"BLOCK_M, ", "a name is missing in the key 'BLOCK_M, '");
  std::string many = "\"BLOCK_M, X_2\" = [[64, 0]";
  for (int i = 1; i < 3000; ++i) many += ", [64, " + std::to_string(i) + "]";
  CHECK(failure(edited("BLOCK_M = [64, 128]", many + "]")).find("\"BLOCK_M, X_2\" has too many rows") !=
        std::string::npos);
  rows("\"BLOCK_M, BLOCK_M\" = [[64, 1]]", "\"BLOCK_M, ", "the parameter 'BLOCK_M' is there twice");
  rows("BLOCK_M = [64]\n\"X_2, BLOCK_M\" = [[64, 1]]", "\"X_2", "the parameter 'BLOCK_M' is there twice");
  rows("\"BLOCK_M, N\" = [[64, 1]]", "\"BLOCK_M, ", "a name of [problem]");
  rows("BLOCK_M = [[64, 1], [2, 3]]", "[64, 1]",
       "name the parts of the lists, as in \"BLOCK_M_0, BLOCK_M_1\" = [[128, 64], [64, 64]]");
}
