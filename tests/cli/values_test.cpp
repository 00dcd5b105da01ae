// Arguments by value, tables of addresses, loops of launches, contents of other arguments and sums, executed on the
// host backend, and wrong ones.
#include <doctest/doctest.h>

#include "cli/cli.hpp"

using namespace xtune::system;
using namespace xtune;
using namespace xtune::cli_test;

namespace {

const std::string quick = "[measure]\nrep = 3\nmin_rep = 3\nwarmup = 1\nrace = false\nfinals = 0\nflush = \"none\"\n";

/// A kernel that writes x[0] to x[N - 1].
struct Values {
  Cli cli;

  std::string spec(const std::string& source, const std::string& arguments, const std::string& more = "",
                   const std::string& kernel = "", const std::string& dtype = "f32") const {
    cli.write("k.cu", source);
    return cli.write("k.toml", "[kernel]\nname = \"k\"\nsource = \"k.cu\"\n" + kernel +
                                   "[problem]\nN = 64\n[space.params]\nBLOCK = [32, 64]\n" + more +
                                   "[[args]]\nname = \"x\"\ndtype = \"" + dtype +
                                   "\"\nshape = [\"N\"]\nrole = \"out\"\n" + arguments + quick);
  }
  CommandResult run(const std::string& path) const { return cli.xtune({"run", path, "--backend", "host", "--fresh"}); }
};

const std::string launch = "[launch]\ngrid = [\"N // BLOCK\"]\nblock = [\"BLOCK\"]\n";

void check_valid(const CommandResult& result, const char* count = "2 ok") {
  CAPTURE(result.stdout_text);
  CAPTURE(result.stderr_text);
  CHECK(result.exit_code == 0);
  CHECK((has(result.stdout_text, count) || has(result.stderr_text, count)));
}

}  // namespace

TEST_CASE("vectors, enums and structs are passed by value, with the layout of C++") {
  const Values values;
  const std::string source = R"(
enum class Op : int { add, multiply };
struct Params {
  char tag;
  double scale;
  short shift[3];
  float3 origin;
  float4 weights;
  const float* data;
  Op op;
  bool negate;
};
extern "C" __global__ void k(float* x, float3 o, Params p, uchar4 bytes, Op op) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = o.x + o.y * 2 + o.z * 4 + p.tag * 1000 + float(p.scale) + p.shift[0] + p.shift[1] * 10 + p.shift[2] * 100 +
         p.origin.y * 3 + p.weights.w + p.data[i] + bytes.z + (op == Op::multiply ? 0.5f : 0) +
         (p.op == Op::multiply ? 0.25f : 0) + (p.negate ? 0.125f : 0);
}
extern "C" __global__ void expected(float* x, const float* a) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x < 64) x[i] = 1 + 2 * 2 + 64 * 4 + 3 * 1000 + 2.5f + 7 + 80 + 900 + 5 * 3 + 64 + a[i] + 9 + 0.875f;
}
)";
  const std::string arguments = R"(
[[args]]
name = "o"
dtype = "f32x3"
value = [1, 2, "N"]

[[args]]
name = "p"
fields = [
  { name = "tag", dtype = "i8", value = 3 },
  { name = "scale", dtype = "f64", value = 2.5 },
  { name = "shift", dtype = "i16", count = 3, value = [7, 8, 9] },
  { name = "origin", dtype = "f32x3", value = 5 },
  { name = "weights", dtype = "f32x4", value = [0, 0, 0, "N"] },
  { name = "data", of = "a" },
  { name = "op", dtype = "i32", value = 1 },
  { name = "negate", dtype = "bool", value = true },
]

[[args]]
name = "bytes"
dtype = "u8x4"
value = [0, 0, 9, 0]

[[args]]
name = "op"
dtype = "i32"
value = 1

[[args]]
name = "a"
dtype = "f32"
shape = ["N"]

[validate]
reference = { kernel = "expected", args = ["x", "a"], grid = [1], block = [64] }
)";
  const std::string spec = values.spec(source, arguments, launch, "args = [\"x\", \"o\", \"p\", \"bytes\", \"op\"]\n");
  check_valid(values.run(spec));
  CHECK(values.cli.xtune({"check", spec}).exit_code == 0);
  // Another value is another measurement.
  const CommandResult again = values.cli.xtune({"run", spec, "--backend", "host"});
  CHECK(has(again.stdout_text + again.stderr_text, "2"));
  const std::string text = read_file(values.cli.path("k.toml"));
  values.cli.write(
      "k.toml", text.substr(0, text.find("value = 2.5")) + "value = 9e4" + text.substr(text.find("value = 2.5") + 11));
  const CommandResult wrong = values.cli.xtune({"run", spec, "--backend", "host"});
  CHECK(has(wrong.stdout_text + wrong.stderr_text, "2 wrong_result"));
}

TEST_CASE("a struct takes the bytes of a file") {
  const Values values;
  const float numbers[2] = {1.5F, 4};
  values.cli.write("p.bin", std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
  check_valid(values.run(values.spec(
      "struct P { float a, b; };\n"
      "extern \"C\" __global__ void k(float* x, P p) { x[blockIdx.x * blockDim.x + threadIdx.x] = p.a + p.b; }\n"
      "extern \"C\" __global__ void expected(float* x) { x[threadIdx.x] = 5.5f; }\n",
      "[[args]]\nname = \"p\"\nkind = \"struct\"\nfile = \"p.bin\"\n"
      "[validate]\nreference = { kernel = \"expected\", args = [\"x\"], grid = [1], block = [64] }\n",
      launch)));
}

TEST_CASE("a struct whose size differs from the declared one is refused with both sizes") {
  const Values values;
  const auto outcome = [&](const std::string& declared, const std::string& fields) {
    const CommandResult result = values.run(values.spec(
        "union Q { double d[2]; };\nstruct P { " + declared +
            " };\n"
            "extern \"C\" __global__ void k(float* x, P p) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n",
        "[[args]]\nname = \"p\"\nfields = [" + fields + "]\n", launch));
    return result.stdout_text + result.stderr_text;
  };
  // The source shows it.
  CHECK(has(outcome("int n; double scale;", "{ name = \"n\", dtype = \"i32\", value = 1 }"),
            "struct of 16 bytes (n, scale), and the spec's 'p' has 4 bytes"));
  // Only the compiler knows.
  CHECK(has(outcome("int n; Q q;", "{ name = \"n\", dtype = \"i32\", value = 1 }"),
            "argument 2: the kernel takes P of 24 bytes, the spec's 'p' is a value of 4 bytes"));
}

TEST_CASE("tables hold addresses of buffers, which are validated like any other") {
  const Values values;
  const std::string source = R"(
extern "C" __global__ void k(float** rows, const float* const* batch) {
  rows[blockIdx.x][threadIdx.x] = (blockIdx.x + 1) * batch[threadIdx.x % 4][0];
}
extern "C" __global__ void expected(float* x, float* y, const float* all) {
  x[threadIdx.x] = all[8 + (threadIdx.x % 4) * 16];
  y[threadIdx.x] = 2 * all[8 + (threadIdx.x % 4) * 16];
}
)";
  const std::string arguments = R"(
[[args]]
name = "y"
dtype = "f32"
shape = ["N"]
role = "out"

[[args]]
name = "all"
dtype = "f32"
shape = [4, 16]

[[args]]
name = "rows"
kind = "table"
of = ["x", "y"]

[[args]]
name = "batch"
kind = "table"
of = "all"
count = 4
stride = 16
offset = 8

[validate]
reference = { kernel = "expected", args = ["x", "y", "all"], grid = [1], block = [64] }
)";
  const std::string two = "[launch]\ngrid = [2]\nblock = [64]\n", own = "args = [\"rows\", \"batch\"]\n";
  check_valid(values.run(values.spec(source, arguments, two, own)));
  const CommandResult wrong = values.run(
      values.spec(source.substr(0, source.find("(blockIdx.x + 1) *")) + source.substr(source.find("batch[threadIdx")),
                  arguments, two, own));
  CHECK(has(wrong.stdout_text + wrong.stderr_text, "y: 64 of 64 elements differ"));
  std::string far = arguments;
  far.replace(far.find("offset = 8"), 10, "offset = 16");
  const CommandResult beyond = values.run(values.spec(source, far, two, own));
  CHECK(has(beyond.stdout_text + beyond.stderr_text,
            "argument 'batch': its addresses reach element 64 of 'all', which has 64"));
}

TEST_CASE("a loop of launches gives its steps an index, and alternates between them") {
  const Values values;
  // x = 1; then for i in 0, 1, 2: x = x * (10 + i), and, but for the last, x = x + i.
  const std::string source = R"(
extern "C" __global__ void start(float* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void scale(float* x, int by) { if (blockIdx.x == 0) x[threadIdx.x] *= by; }
extern "C" __global__ void shift(float* x, int by) { x[threadIdx.x] += by; }
extern "C" __global__ void expected(float* x) { x[threadIdx.x] = ((1 * 10 + 0) * 11 + 1) * 12; }
)";
  const std::string steps = R"(
[[steps]]
entry = "start"
grid = [1]
block = [64]
args = ["x"]

[[steps]]
entry = "scale"
repeat = "N // 20"
with = { by = "10 + i" }
grid = ["i + 1"]
block = [64]

[[steps]]
entry = "shift"
repeat = "N // 20"
when = "i < 2"
with = { by = "i" }
grid = [1]
block = [64]
)";
  const std::string by =
      "[[args]]\nname = \"by\"\ndtype = \"i32\"\nvalue = 77\n"
      "[validate]\nreference = { kernel = \"expected\", args = [\"x\"], grid = [1], block = [64] }\n";
  const std::string spec = values.spec(source, by, steps);
  check_valid(values.run(spec));
  const std::string shown = values.cli.xtune({"show", spec, "--backend", "host", "--no-source"}).stdout_text;
  CHECK_MESSAGE(has(shown, "step 2:     scale x 3\nlaunch:     grid 1, block 64"), shown);
  CHECK_MESSAGE(has(shown, "last one:   grid 3, block 64"), shown);
  CHECK_MESSAGE(has(shown, "step 3:     shift x 2\nlaunch:     grid 1, block 64"), shown);
  CHECK_MESSAGE(!has(shown, "step 4"), shown);
  std::string separate = steps;  // two loops: all products, then all sums
  separate.replace(separate.rfind("repeat = \"N // 20\""), 18, "repeat = { i_ = \"N // 20\" }");
  separate.replace(separate.find("when = \"i < 2\""), 14, "when = \"i_ < 2\"");
  separate.replace(separate.rfind("by = \"i\""), 8, "by = \"i_\"");
  const CommandResult other = values.run(values.spec(source, by, separate));
  CHECK(has(other.stdout_text + other.stderr_text, "2 wrong_result"));
  std::string many = steps;
  many.replace(many.find("\"N // 20\""), 9, "\"N * N * N\"");
  const CommandResult refused = values.run(values.spec(source, by, many));
  CHECK(has(refused.stdout_text + refused.stderr_text, "but a step repeats 0 to 4096 times"));
}

TEST_CASE("an output whose shape follows a parameter is compared by its sum") {
  const Values values;
  const std::string source = R"(
extern "C" __global__ void k(const float* a, float* partial, int n) {
  __shared__ float part[BLOCK];
  part[threadIdx.x] = a[blockIdx.x * BLOCK + threadIdx.x];
  __syncthreads();
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < BLOCK; ++i) sum += part[i];
  partial[blockIdx.x] = sum;
}
)";
  const std::string arguments = R"(
[[args]]
name = "a"
dtype = "f32"
shape = [1, "N"]

[[args]]
name = "partial"
dtype = "f32"
shape = ["N // BLOCK"]
role = "scratch"

[[args]]
name = "n"
dtype = "i32"
value = "N"

[validate]
reference = { builtin = "reduction", x = "a", axis = 1 }
)";
  const auto spec = [&](const std::string& of) {
    values.cli.write("k.cu", of);
    return values.cli.write("k.toml",
                            "[kernel]\nname = \"k\"\nsource = \"k.cu\"\nargs = [\"a\", \"partial\", \"n\"]\n"
                            "[problem]\nN = 64\n[space.params]\nBLOCK = [16, 32]\n" +
                                launch +
                                "[[args]]\nname = \"total\"\ndtype = \"f32\"\nshape = [1]\nrole = \"out\"\n"
                                "sum_of = \"partial\"\n" +
                                arguments + quick);
  };
  check_valid(values.run(spec(source)));
  std::string wrong = source;
  wrong.replace(wrong.find("i < BLOCK"), 9, "i < 31   ");
  const CommandResult result = values.run(spec(wrong));
  CHECK(has(result.stdout_text + result.stderr_text, "total"));
  CHECK(has(result.stdout_text + result.stderr_text, "wrong_result"));
}

TEST_CASE("constant fills, and contents of another argument, also in another order") {
  const Values values;
  const std::string source = R"(
__constant__ float filter[4];
extern "C" __global__ void k(float* x, const float* low, const float* aos, const float* soa, const float* same) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool right = low[i] < -1e38f && same[i % 4] == filter[i % 4];
  for (int j = 0; j < 3; ++j) right = right && aos[i * 3 + j] == soa[j * 64 + i];
  x[i] = right ? 1 : 0;
}
extern "C" __global__ void expected(float* x) { x[threadIdx.x] = 1; }
)";
  check_valid(values.run(values.spec(source, R"(
[[args]]
name = "low"
dtype = "f32"
shape = ["N"]
fill = { constant = -inf }

[[args]]
name = "aos"
dtype = "f32"
shape = ["N", 3]

[[args]]
name = "soa"
dtype = "f32"
shape = [3, "N"]
fill = { like = "aos", permute = [1, 0] }

[[args]]
name = "same"
dtype = "f32"
shape = [4]

[[args]]
name = "filter"
kind = "constant"
dtype = "f32"
shape = [2, 2]
fill = { like = "same" }

[validate]
reference = { kernel = "expected", args = ["x"], grid = [1], block = [64] }
)",
                                     launch)));
}

TEST_CASE("wrong values, tables, loops and fills are refused at their place") {
  const Values values;
  const auto refused = [&](const std::string& arguments, const std::string& more = launch) {
    const CommandResult result = values.cli.xtune(
        {"check", values.spec("extern \"C\" __global__ void k(float* x) {}\n", arguments, more, "args = [\"x\"]\n")});
    CHECK(result.exit_code == 2);
    return result.stderr_text;
  };
  const auto field = [&](const std::string& text) {
    return refused("[[args]]\nname = \"p\"\nfields = [" + text + "]\n");
  };
  CHECK(has(field(""), "fields is empty: list what the struct 'p' has"));
  CHECK(has(field("{ name = \"n\", type = \"i32\" }"), "unknown key 'type' in [[args.fields]]"));
  CHECK(has(field("{ name = \"n\", dtype = \"i33\", value = 1 }"), "unknown word 'i33' (did you mean 'i32'?)"));
  CHECK(has(field("{ name = \"n\", dtype = \"i32\", count = 99999, value = 1 }"), "count"));
  CHECK(has(field("{ name = \"n\", dtype = \"f64\", count = 30000, value = 1 }"),
            "has 240000 bytes, and a kernel takes at most 32764"));
  CHECK(has(field("{ name = \"n\", dtype = \"f32\", count = 3, value = [1, 2] }"),
            "the field 'n' of 'p' has 3 numbers, and this list has 2. Give as many, or a single one for all"));
  CHECK(has(field("{ name = \"n\", dtype = \"f64x4\", value = 1 }"), "vectors of 32 bytes differ in alignment"));
  CHECK(has(field("{ name = \"n\", dtype = \"c64\", value = 1 }"), "complex types differ in alignment"));
  CHECK(has(field("{ name = \"n\", of = \"y\" }"), "of: 'y' is not a buffer among [[args]]"));
  CHECK(has(field("{ name = \"n\", of = \"x\", value = 1 }"), "is the address of a buffer (of), which has no value"));
  CHECK(has(refused("[[args]]\nname = \"p\"\nkind = \"struct\"\n"), "needs either fields"));
  CHECK(has(refused("[[args]]\nname = \"p\"\ndtype = \"f32x4\"\nshape = [\"N\"]\n"), "has their lanes as last"));
  CHECK(has(refused("[[args]]\nname = \"p\"\ndtype = \"i32x2\"\nvalue = [1, 2, 3]\n"), "has 2 numbers"));
  CHECK(has(refused("[[args]]\nname = \"p\"\nkind = \"table\"\nof = [\"p\"]\n"), "'p' is not a buffer"));
  CHECK(has(refused("[[args]]\nname = \"p\"\ndtype = \"f32\"\nshape = [2]\nof = \"x\"\n"), "'of': add kind = "));
  const auto fill = [&](const std::string& text) {
    return refused("[[args]]\nname = \"p\"\ndtype = \"f32\"\nshape = [\"N\", 2]\nfill = " + text +
                   "\n"
                   "[[args]]\nname = \"q\"\ndtype = \"f32\"\nshape = [2, \"N\"]\n"
                   "[[args]]\nname = \"d\"\ndtype = \"f64\"\nshape = [2, \"N\"]\n");
  };
  CHECK(has(fill("{ like = \"p\" }"), "like: 'p' is not an input that has its own contents"));
  CHECK(has(fill("{ like = \"x\" }"), "like: 'x' is not an input"));
  CHECK(has(fill("{ like = \"d\" }"), "they need the same type"));
  CHECK(has(fill("{ like = \"q\", permute = [0, 0] }"), "each dimension of 'q' once, 0 to 1"));
  CHECK(has(fill("{ like = \"q\", constant = 1 }"), "like has no other fill beside it"));
  const auto step = [&](const std::string& text) {
    const CommandResult result =
        values.cli.xtune({"check", values.spec("extern \"C\" __global__ void k(float* x, int n) {}\n",
                                               "[[args]]\nname = \"n\"\ndtype = \"i32\"\nvalue = 1\n",
                                               "[[steps]]\nentry = \"k\"\ngrid = [1]\nblock = [1]\n" + text)});
    CHECK(result.exit_code == 2);
    return result.stderr_text;
  };
  CHECK(has(step("repeat = { N = 2 }\n"), "'N' is a parameter or a name of [problem]: call the index otherwise"));
  CHECK(has(step("repeat = { a = 2, b = 3 }\n"), "expected one index: { i = \"N\" }"));
  CHECK(has(step("repeat = \"M\"\n"), "unknown name 'M' in a step's repetitions"));
  CHECK(has(step("repeat = 3\nwith = { m = 1 }\n"), "with: 'm' is not a scalar among [[args]]"));
  CHECK(has(step("with = { n = \"i\" }\n"), "unknown name 'i' in a step's value"));
  CHECK(has(step("repeat = -1\n"), "but a step repeats 0 to 4096 times"));
}
