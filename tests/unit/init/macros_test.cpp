// Which macros are parameters, and the values that are tried for them.
#include <doctest/doctest.h>
#include <re2/re2.h>

#include "core/init/source.hpp"

using namespace xtune;
using init::OpenMacro;

namespace {

std::vector<OpenMacro> macros(std::string text, const std::string& header = "") {
  // Only code for the device uses parameters.
  RE2::GlobalReplace(&text, R"((?m)(?:\bint )?\bx = |^if constexpr|^return)", "__device__ \\0");
  const init::TokenizedSource source = init::tokenize(text);
  return init::source_names(source, {init::tokenize(header)}, init::TypeNames(source),
                            init::kernel_functions(source.tokens))
      .macros;
}

std::string names(const std::string& source, const std::string& header = "") {
  std::string text;
  for (const OpenMacro& macro : macros(source, header)) text += (text.empty() ? "" : " ") + macro.name;
  return text;
}

std::vector<Value> numbers(std::initializer_list<std::int64_t> list) { return {list.begin(), list.end()}; }

}  // namespace

TEST_CASE("names that nothing defines are parameters") {
  CHECK(names("__global__ void f(int n) { for (int i = 0; i < n; i += BLOCK) x[i] = TILE_M; }") == "BLOCK TILE_M");
  CHECK(names("#pragma unroll UNROLL\nint x;") == "UNROLL");
  CHECK(names("#if USE_SHARED\n#endif\n") == "USE_SHARED");
  CHECK(names("return BLOCK;") == "BLOCK");
  CHECK(names("int main() { fopen(NAME); }\n#define TIME(x) CLOCKS_PER_SEC\n") == "");
  // Those of small letters where only a constant can be.
  CHECK(names("__global__ void f(int n) { __shared__ float s[block_size]; n = blockIdx.x * tile + blockDim.x + n; }") ==
        "block_size tile");
  CHECK(names("__global__ void f(int n) { int a, w; n = blockIdx.x * blockDim.x + blockIdx.y * w + other; }") == "");
  CHECK(names("__global__ void f() { double A, B, C; A = B + C; }") == "");
  CHECK(macros("int x;\n#pragma unroll UNROLL\n").at(0).line == 2);
  CHECK(macros("int x;\n\n#if FAST\n#endif\n").at(0).line == 3);
}

TEST_CASE("what is declared, called, qualified or known is none") {
  const char* const none[] = {
      "constexpr int WARP = 32; int x = WARP;",
      "enum Kind { FIRST, SECOND = 2 };\nint x = FIRST + SECOND;",
      "template <int N> __global__ void f(const float* A, int M) { A[M] = N; }",
      "__device__ float g(const float* P, int K) { return P[K]; }",
      "x = CHECK(1);",
      "x = ns::VALUE + a.FIELD + p->OTHER;",
      "x = INT_MAX + FLT_EPSILON + INFINITY + M_PI + NULL + CUDART_INF_F;",
      "#ifdef DEBUG\n#endif\n",
      "#if defined(FAST) || defined LATER\n#endif\n",
      "#define GUARD_H\nint x;",
      "// BLOCK\nconst char* s = \"BLOCK\";",
      "#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint x = MIN(1, 2);",
      "int x = lower_case;",
      "#define AT(row, LDA) ((row) * (LDA))\n__global__ void f(int* x, int n) { x[AT(1, n)] = 1; }",
      "template <class T> __global__ void f() { T *XY = get(), Z; T *YX; XY[1] = *YX + Z; }",
  };
  for (const char* const source : none) {
    CAPTURE(source);
    CHECK(names(source) == "");
  }
  CHECK(names("int x = LANES + BLOCK;", "#define LANES 32\n") == "BLOCK");
}

TEST_CASE("a default in #ifndef is a parameter, a plain #define is only offered") {
  const auto found = macros(
      "#ifndef BLOCK\n#define BLOCK 128\n#endif\n#if !defined(TILE)\n# define TILE 0x10\n#endif\n#define WIDTH (5)\n"
      "#define AREA (WIDTH * WIDTH)\nint x = BLOCK + TILE + AREA;\n");
  REQUIRE(found.size() == 3);
  CHECK(found[0].name == "BLOCK");
  CHECK(found[0].kind == OpenMacro::Kind::defaulted);
  CHECK(found[0].value == "128");
  CHECK(found[0].line == 2);
  CHECK(found[1].value == "0x10");
  CHECK(found[2].name == "WIDTH");
  CHECK(found[2].kind == OpenMacro::Kind::fixed);
  CHECK(names("#ifndef block_size_x\n#define block_size_x 16\n#endif\nint x = block_size_x;") == "block_size_x");
  // One of two branches gives no default.
  CHECK(names("#ifdef FAST\n#define DEPTH 4\n#else\n#define DEPTH 2\n#endif\nint x = DEPTH;") == "");
}

TEST_CASE("a name that is only asked for truth is a switch") {
  CHECK(macros("#if PRIVATE\n#endif\n").at(0).is_condition);
  CHECK(macros("if constexpr (SHUFFLE) { }").at(0).is_condition);
  CHECK(macros("int x = FAST ? 1 : 2;").at(0).is_condition);
  // A number that it is compared with is a value of several.
  CHECK_FALSE(macros("#if BYTES == 1\n#elif BYTES == 2\n#endif\n").at(0).is_condition);
  CHECK_FALSE(macros("return d == 2 && POINTS == 5;").at(0).is_condition);
  CHECK_FALSE(macros("#if UNROLL > 1\n#endif\nint x = UNROLL;").at(0).is_condition);
}

TEST_CASE("values are few and around the default") {
  using init::plausible_values;
  CHECK(plausible_values(256, false) == numbers({128, 256, 512}));
  CHECK(plausible_values(1, false) == numbers({1, 2, 4}));
  CHECK(plausible_values(5, false) == numbers({2, 5, 10}));
  CHECK(plausible_values(0, false) == numbers({0, 1}));
  CHECK(plausible_values(1, true) == numbers({0, 1}));
  CHECK(plausible_values(-3, false) == numbers({-3}));
  CHECK(plausible_values(std::int64_t{1} << 62, false) == numbers({std::int64_t{1} << 62}));
  // Without a default only the author knows them.
  CHECK(plausible_values(std::nullopt, false).empty());
  CHECK(plausible_values(std::nullopt, true) == numbers({0, 1}));
  for (std::int64_t value = 1; value < 200; ++value) {
    const auto values = plausible_values(value, false);
    CHECK(std::count(values.begin(), values.end(), Value(value)) == 1);
  }
}

TEST_CASE("numbers and names") {
  CHECK(init::integer_of("16") == 16);
  CHECK(init::integer_of("0x20u") == 32);
  CHECK(init::integer_of("7LL") == 7);
  CHECK_FALSE(init::integer_of("1.5f"));
  CHECK_FALSE(init::integer_of("99999999999999999999"));
  CHECK_FALSE(init::integer_of(""));
  CHECK(init::macro_case("BlockSize") == "BLOCK_SIZE");
  CHECK(init::macro_case("n") == "N");
}
