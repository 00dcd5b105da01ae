// Specs against what their kernels declare: what is wrong is refused, and what cannot be known is not judged.
#include "core/init/signature.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune;

namespace {

const std::string kernel = "__global__ void axpb(const float* x, float* y, int n, float a) { y[0] = a * x[n]; }\n";
const std::string x = "{ name = \"x\", dtype = \"f32\", shape = [4] }";
const std::string y = "{ name = \"y\", dtype = \"f32\", shape = [4], role = \"out\" }";
const std::string n = "{ name = \"n\", dtype = \"i32\", value = 3 }",
                  a = "{ name = \"a\", dtype = \"f32\", value = 2 }";
const std::string all = x + ", " + y + ", " + n + ", " + a;

/// The message for a source and a list of arguments; empty: accepted.
std::string complaint(const std::string& source, const std::string& arguments, const std::string& more = "",
                      const std::string& entry = "axpb") {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << source;
  std::ofstream(folder.path() / "own.h") << kernel;
  std::ofstream(folder.path() / "data.h") << '\0' << kernel;
  std::ofstream(folder.path() / "table.h") << std::string(2 << 20, ' ') << kernel;
  try {
    init::check_signatures(spec::parse_spec("kernel = { name = \"k\", source = \"k.cu\", entry = \"" + entry +
                                                "\" }\nargs = [" + arguments + "]\nlaunch = { grid = 1, block = 1 }\n" +
                                                more,
                                            "k.toml", folder.path()));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("arguments that a kernel does not take are refused, with the line of the source") {
  CHECK(complaint(kernel, all) == "");
  CHECK(has(complaint(kernel, x + ", " + y + ", " + n),
            "axpb takes 4 arguments (const float* x, float* y, int n, float a; k.cu:1), and the spec gives it 3 (x, y, "
            "n)"));
  CHECK(has(complaint(kernel, x + ", " + y + ", " + a + ", " + n),
            "argument 3 of axpb is int n (k.cu:1), and the spec's 'a' is a scalar of f32"));
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string arguments = all;
    return complaint(kernel, arguments.replace(arguments.find(old), old.size(), other));
  };
  CHECK(has(with("\"x\", dtype = \"f32\"", "\"x\", dtype = \"f64\""), "the spec's 'x' is a buffer of f64"));
  CHECK(has(with("\"i32\", value = 3", "\"i64\", value = 3"), "the spec's 'n' is a scalar of i64"));
  CHECK(has(with("value = 3", "shape = [1]"), "the spec's 'n' is a buffer of i32"));
  CHECK(has(with("\"x\", dtype = \"f32\", shape = [4]", "\"x\", dtype = \"f32\", shape = [4], role = \"inout\""),
            "k.toml:2:9: the argument 'x' has role inout, and k.cu:1 declares it const float* x. Give it role in"));
  CHECK(with("\"i32\", value = 3", "\"u32\", value = 3") == "");
  CHECK(has(with("\"i32\", value = 3", "\"f32\", value = 3"), "the spec's 'n' is a scalar of f32"));
}

TEST_CASE("values are compared with the structs and vectors of the source") {
  const std::string source =
      "struct P { char c; float f; short s; };\n__global__ void axpb(float* y, P p, float3 o) { y[0] = p.f; }\n";
  const auto with = [&](const std::string& p, const std::string& o = "dtype = \"f32x3\", value = 1",
                        const std::string& more = "") {
    return complaint(source, y + ", { name = \"p\", fields = [" + p + "] }, { name = \"o\", " + o + " }", more);
  };
  const std::string c = "{ name = \"c\", dtype = \"i8\", value = 1 }",
                    f = "{ name = \"f\", dtype = \"f32\", value = 1 }",
                    s = "{ name = \"s\", dtype = \"i16\", value = 1 }", comma = ", ";
  CHECK(with(c + comma + f + comma + s) == "");
  CHECK(has(with(c + comma + f),
            "argument 2 of axpb is P p (k.cu:2), a struct of 12 bytes (c, f, s), and the spec's 'p' has 8 bytes"));
  CHECK(has(with(c + comma + s + comma + f),
            "the spec's 'p' has 8 bytes. Field 2, 'f', is at byte 4 and has 4; the spec's 's' at 2, 2"));
  CHECK(
      has(with(c + comma + f + comma + s, "dtype = \"f32\", value = 1"),
          "argument 3 of axpb is float3 o (k.cu:2), a value of 12 bytes, and the spec's 'o' has 4 bytes. Give it dtype "
          "= \"f32x3\""));
  // Fields of one size: what is swapped, or of another type, is a mistake, too.
  const auto three = [&](const std::string& fields) {
    return complaint("struct P { float a; int n; float b; };\n__global__ void axpb(float* y, P p) { y[0] = p.a; }\n",
                     y + ", { name = \"p\", fields = [" + fields + "] }");
  };
  const auto field = [](const std::string& name, const std::string& dtype) {
    return "{ name = \"" + name + "\", dtype = \"" + dtype + "\", value = 1 }";
  };
  CHECK(three(field("a", "f32") + comma + field("n", "u32") + comma + field("b", "f32")) == "");
  CHECK(three(field("first", "f32") + comma + field("n", "i32") + comma + field("last", "f32")) == "");
  CHECK(has(three(field("b", "f32") + comma + field("n", "i32") + comma + field("a", "f32")),
            "Field 1 is 'a', and the spec's is 'b', which is field 3 of the struct"));
  CHECK(has(three(field("a", "f32") + comma + field("n", "f32") + comma + field("b", "f32")),
            "Field 2, 'n', is of i32, and the spec's of f32"));
  CHECK(has(three(field("a", "i32") + comma + field("n", "i32") + comma + field("b", "f32")),
            "Field 1, 'a', is of f32, and the spec's of i32"));
  CHECK(with("{ name = \"bytes\", dtype = \"u8\", count = 12, value = 0 }") == "");
  // A definition may change the type.
  CHECK(complaint("struct P { REAL r; };\n__global__ void axpb(float* y, P p) {}\n",
                  y + ", { name = \"p\", fields = [{ name = \"r\", dtype = \"f64\", value = 1 }] }") == "");
  CHECK(complaint(
            "#ifndef REAL\n#define REAL float\n#endif\nstruct P { REAL r; };\n__global__ void axpb(float* y, P p) {}\n",
            y + ", { name = \"p\", fields = [{ name = \"r\", dtype = \"f64\", value = 1 }] }",
            "space = { params = { REAL = [\"double\"] } }\n") == "");
}

TEST_CASE("a macro in the place of an argument, and an output where the reference only reads, are refused") {
  const std::string macro = "space = { params = { n = [1, 2] } }\n";
  CHECK(has(complaint(kernel, all, macro),
            "the parameter 'n' is a macro, and axpb takes int n (k.cu:1): choose another name"));
  CHECK(complaint(kernel, all, "space = { params = { n = { values = [1, 2], compile_time = false } } }\n") == "");
  CHECK(complaint("#undef n\n" + kernel, all, macro) == "");
  CHECK(complaint("#include \"own.h\"\n", all, macro) == "");
  const auto reference = [&](const std::string& arguments) {
    return complaint(kernel, all, "validate = { reference = { kernel = \"axpb\", args = [" + arguments + "] } }\n");
  };
  CHECK(has(reference("\"y\", \"x\", \"n\", \"a\""),
            "the reference kernel gets the output 'y' where k.cu:1 declares const float* x, and cannot write it"));
  CHECK(reference("\"x\", \"y\", \"n\", \"a\"") == "");
}

TEST_CASE("the fields of structs in a struct are where the compiler puts them") {
  const auto with = [&](const std::string& structs, std::initializer_list<std::pair<const char*, const char*>> fields) {
    std::string listed;
    for (const auto& [name, dtype] : fields)
      listed +=
          std::string(listed.empty() ? "" : ", ") + "{ name = \"" + name + "\", dtype = \"" + dtype + "\", value = 1 }";
    return complaint(structs + "\n__global__ void axpb(float* y, P p) { y[0] = 1; }\n",
                     y + ", { name = \"p\", fields = [" + listed + "] }");
  };
  const std::string aligned = "struct In { char a; short b; }; struct P { double z; char x; In in; };";
  CHECK(has(with(aligned, {{"z", "f64"}, {"x", "i8"}, {"a", "i8"}, {"b", "i16"}}),
            "Field 3, 'a', is at byte 10 and has 1; the spec's 'a' at 9, 1"));
  CHECK(with(aligned, {{"z", "f64"}, {"x", "i8"}, {"pad", "u8"}, {"a", "i8"}, {"b", "i16"}}) == "");
  CHECK(has(with(aligned, {{"z", "f64"}, {"x", "i8"}, {"a", "i8"}, {"pad", "u8"}, {"b", "i16"}}),
            "Field 3, 'a', is at byte 10 and has 1; the spec's 'a' at 9, 1"));
  const std::string tail = "typedef struct { int n; char c; } In; struct P { In in; char d; float* q; };";
  CHECK(has(with(tail, {{"n", "i32"}, {"c", "i8"}, {"d", "i8"}, {"q", "u64"}}), "a struct of 24 bytes (n, c, d, q)"));
  CHECK(with(tail, {{"n", "i32"}, {"c", "i8"}, {"p0", "u8"}, {"p1", "u8"}, {"p2", "u8"}, {"d", "i8"}, {"q", "u64"}}) ==
        "");
  CHECK(has(with("struct In { char a; short b; }; struct P { char x; In in[2]; int y; };",
                 {{"x", "i8"}, {"a", "i8"}, {"b", "i16"}, {"a2", "i8"}, {"b2", "i16"}, {"y", "i32"}}),
            "Field 2, 'a', is at byte 2 and has 1; the spec's 'a' at 1, 1"));
  // What cannot be read for sure is left to the compiler.
  CHECK(with("union In { char a; int b; }; struct P { char x; In in; };", {{"x", "i8"}, {"b", "i32"}}) == "");
  CHECK(with("struct P; struct P { char x; P* next; };", {{"x", "i8"}, {"next", "u64"}}) == "");
}

TEST_CASE("a kernel that the source does not have is refused, and the nearest one is named") {
  CHECK(has(complaint(kernel, all, "", "axbp"), "the source has no kernel 'axbp' (did you mean 'axpb'?); it has axpb"));
  CHECK(has(complaint("#include \"own.h\"\n", all, "", "axp"), "it has axpb"));
  CHECK(complaint("#include \"own.h\"\n", all) == "");
  CHECK(has(complaint("#include \"own.h\"\n", x), "own.h:1"));
  // Another header, or a macro, may have it.
  CHECK(complaint("#include \"missing.h\"\n" + kernel, all, "", "other") == "");
  CHECK(complaint("#define MAKE(name) __global__ void name##_k() {}\nMAKE(ax)\n" + kernel, all, "", "ax_k") == "");
}

TEST_CASE("a reference kernel is checked as the kernel is") {
  const std::string plain = "__global__ void plain(const float* x, double* y, int n, float a) {}\n";
  CHECK(has(complaint(kernel + plain, all, "validate = { reference = { kernel = \"plain\" } }\n"),
            "argument 2 of plain is double* y (k.cu:2), and the spec's 'y' is a buffer of f32"));
}

TEST_CASE("what macros, conditions, templates and unknown types decide is not judged") {
  const std::string body = " { y[0] = x[0]; }\n", two = x + ", " + y;
  for (const std::string& source :
       std::vector<std::string>{"#define ARGS const float* x, float* y\n__global__ void axpb(ARGS)" + body,
                                "__global__ void axpb(const float* x, float* y\n#ifdef MORE\n, int n\n#endif\n)" + body,
                                "#ifdef A\n__global__ void axpb(const float* x)" + body +
                                    "#else\n__global__ void axpb(const float* x, float* y)" + body + "#endif\n",
                                "__global__ void axpb(UNKNOWN_ARGS)" + body,
                                "#define REAL double\n__global__ void axpb(const REAL_T* x, float* y)" + body,
                                "#ifdef A\ntypedef double real;\n#else\ntypedef float real;\n#endif\n__global__ void "
                                "axpb(const real* x, real* "
                                "y)" +
                                    body,
                                "template <typename... T> __global__ void axpb(T... all) {}\n",
                                "struct Body { float m; };\n__global__ void axpb(const Body* x, Body* y)" + body,
                                "__global__ void axpb(const uchar* x, unsigned char* y)" + body,
                                "__global__ void axpb(const float4* x, float2* y)" + body}) {
    CAPTURE(source);
    CHECK(complaint(source, two) == "");
  }
  const std::string made = "template <typename T> __global__ void axpb(const T* x, T* y)" + body;
  CHECK(complaint(made, two, "problem = { T = \"double\" }\n", "axpb<{T}>") == "");
  CHECK(has(complaint(made, two, "", "axpb<double>"), "argument 1 of axpb is const T* x"));
  // The first step writes what the second one only reads.
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << "__global__ void one(float* y) {}\n__global__ void two(const float* y) {}\n";
  CHECK_NOTHROW(init::check_signatures(spec::parse_spec(
      "kernel = { name = \"k\", source = \"k.cu\" }\nargs = [" + y +
          "]\n[[steps]]\nentry = \"one\"\ngrid = 1\nblock = 1\n[[steps]]\nentry = \"two\"\ngrid = 1\nblock = 1\n",
      "k.toml", folder.path())));
}

TEST_CASE("data and large tables that a source names are not read as C++") {
  for (const char* name : {"data.h", "table.h"}) {
    CHECK(has(complaint(std::string("#if 0\n#include \"") + name + "\"\n#endif\n" + kernel, x),
              "axpb takes 4 arguments"));
    CHECK(complaint(std::string("#include \"") + name + "\"\n__global__ void other() {}\n", all).empty());
  }
}

TEST_CASE("an entry with overloads is refused") {
  const std::string other = "__global__ void axpb(const double* x, double* y, int n, double a) { y[0] = a * x[n]; }\n";
  CHECK(has(complaint(kernel + other, all),
            "k.toml:1:50: k.cu: axpb on line 1 has an overload on line 2, and an entry cannot choose between them: "
            "rename one"));
  CHECK(complaint("#if A\n" + kernel + "#endif\n#if B\n" + other + "#endif\n", all) == "");
  CHECK(complaint(kernel + "template <int N> " + other, all) == "");
}
