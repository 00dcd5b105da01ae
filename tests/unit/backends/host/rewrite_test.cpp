// The rewriting of kernels for the CPU, on text as a preprocessor leaves it.
#include "backends/host/rewrite.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.hpp"

using namespace xtune::base;

using namespace xtune;
using namespace xtune::host;

namespace {

/// Without the differences that only blanks make.
std::string squeezed(std::string text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank)
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  return result;
}

std::string rewritten(const std::string& text, RewriteOptions options = {}) {
  return squeezed(rewrite(text, options).text);
}

}  // namespace

TEST_CASE("static shared arrays belong to the thread that runs the block") {
  CHECK(rewritten("void f() { __shared__ float a[4][5], b; }") == "void f() { static thread_local float a[4][5], b; }");
  CHECK(rewritten("void f() { static __shared__ int a; }") == "void f() { static thread_local int a; }");
  CHECK(rewritten("void f() { volatile __shared__ int a; }") == "void f() { volatile static thread_local int a; }");
}

TEST_CASE("for a sanitizer, each shared variable is a heap block") {
  const RewriteOptions sanitize = {true, true};
  CHECK(rewritten("{ __shared__ alignas(16) Pack<float, 4> a[4][N[1]], b; }", sanitize) ==
        "{ typedef Pack<float, 4> xtune_shared_a[4][N[1]], xtune_shared_b; static auto &a = "
        "xtune_guarded_shared<xtune_shared_a>(), &b = xtune_guarded_shared<xtune_shared_b>(); }");
  CHECK(rewritten("{ static __shared__ int* volatile a; }", sanitize) ==
        "{ typedef int* volatile xtune_shared_a; static auto &a = xtune_guarded_shared<xtune_shared_a>(); }");
  CHECK(rewritten("{ __shared__ int (*p)[4]; }", sanitize) == "{ static int (*p)[4]; }");
  CHECK(rewritten("{ extern __shared__ int p[]; }", sanitize) == "{ int (*const p) = XtuneDynamicShared(); }");
}

TEST_CASE("alignas of a shared array stands where the standard wants it") {
  CHECK(rewritten("{ __shared__ alignas(16) float a[4]; }") == "{ alignas ( 16 ) static thread_local float a[4]; }");
  CHECK(rewritten("{ alignas(16) __shared__ float a[4]; }") == "{ alignas(16) static thread_local float a[4]; }");
  CHECK(rewritten("{ __shared__ __attribute__((aligned(16))) float a[4]; }") ==
        "{ static thread_local __attribute__((aligned(16))) float a[4]; }");
}

TEST_CASE("dynamic shared memory is a pointer") {
  CHECK(rewritten("void f() { extern __shared__ float a[]; }") ==
        "void f() { float (*const a) = XtuneDynamicShared(); }");
  CHECK(rewritten("void f() { extern __shared__ alignas(128) unsigned char a[]; }") ==
        "void f() { unsigned char (*const a) = XtuneDynamicShared(); }");
  CHECK(rewritten("void f() { extern __shared__ float a[][32]; }") ==
        "void f() { float (*const a)[32] = XtuneDynamicShared(); }");
  CHECK(rewritten("void f() { __shared__ extern Pack<float, N[2]> a[], b[]; }") ==
        "void f() { Pack<float, N[2]> (*const a) = XtuneDynamicShared(), (*const b) = XtuneDynamicShared(); }");
}

TEST_CASE("dynamic shared memory outside of functions belongs to the thread") {
  CHECK(rewritten("namespace n { extern \"C\" { extern __shared__ int a[]; } }") ==
        "namespace n { extern \"C\" { static thread_local int (*const a) = XtuneDynamicShared(); } }");
  CHECK(rewritten("namespace n { void f() { extern __shared__ int a[]; } }") ==
        "namespace n { void f() { int (*const a) = XtuneDynamicShared(); } }");
}

TEST_CASE("what no program says as a keyword stays") {
  CHECK(rewritten("const char* s = \"extern __shared__ int a[];\";") ==
        "const char* s = \"extern __shared__ int a[];\";");
  CHECK(rewritten("auto s = R\"x(__noinline__ \" )x\"; __noinline__ void f();") ==
        "auto s = R\"x(__noinline__ \" )x\"; __attribute__((noinline)) void f();");
  CHECK(rewritten("__attribute__((__noinline__)) void f();") == "__attribute__((__noinline__)) void f();");
}

TEST_CASE("only the user's files are looked at") {
  const std::string system = "# 1 \"/usr/include/x.h\" 1 3 4\n__shared__ int a; void g() { __syncthreads(); }\n";
  const Rewritten result = rewrite(system + "# 1 \"kernel.cu\" 2\n__noinline__ int b;\n", {});
  CHECK(result.text == system + "# 1 \"kernel.cu\" 2\n__attribute__((noinline)) int b;\n");
  CHECK_FALSE(result.uses_fibers);
  CHECK_FALSE(mentions(system, "g"));
  // A macro of a system header in the user's file: #define extern extern.
  const std::string macro = "# 1 \"k.cu\"\n{\n# 2 \"k.cu\" 3 4\nextern\n# 2 \"k.cu\"\n__shared__ int a[]; }\n";
  CHECK(rewritten(macro).find("(*const a) = XtuneDynamicShared()") != std::string::npos);
  // A header that says of itself that it is one.
  CHECK_FALSE(mentions("# 1 \"own.h\" 1\n# 2 \"own.h\" 3\nint g;\n# 3 \"own.h\" 3\nint h;\n# 4 \"k.cu\" 2\n", "g"));
  CHECK(mentions("# 1 \"kernel.cu\"\nvoid g();", "g"));
}

TEST_CASE("a kernel that waits for others needs fibers") {
  for (const char* call : {"__syncthreads()", "__syncthreads_and(1)", "__syncwarp()", "__shfl_xor_sync(m, v, 1)",
                           "__shfl(v, 1)", "__any(p)", "__all_sync(m, p)", "__ballot(p)", "__activemask()"})
    CHECK_MESSAGE(rewrite(std::string("void f() { ") + call + "; }", {}).uses_fibers, call);
  for (const char* call : {"atomicAdd(p, 1)", "__threadfence()", "my__syncthreads()", "\"__syncthreads\""})
    CHECK_FALSE_MESSAGE(rewrite(std::string("void f() { ") + call + "; }", {}).uses_fibers, call);
}

TEST_CASE("unroll pragmas become GCC's, where GCC could take them") {
  CHECK(rewrite("#pragma unroll\nfor", {}).text == "#pragma GCC unroll 16\nfor");
  CHECK(rewrite("#pragma unroll 4\nfor", {}).text == "#pragma GCC unroll 4\nfor");
  CHECK(rewrite("# pragma unroll (8)\nfor", {}).text == "#pragma GCC unroll 8\nfor");
  CHECK(rewrite("#pragma unroll FACTOR\nfor", {}).text == "#pragma unroll FACTOR\nfor");
  CHECK(rewrite("#pragma unroll -1\nfor", {}).text == "#pragma unroll -1\nfor");
  CHECK(rewrite("#pragma unroll 4\nfor", {false, false}).text == "#pragma unroll 4\nfor");
}

TEST_CASE("lines stay where they are") {
  const std::string text =
      "void f() {\n  extern __shared__\n  float\n# 7 \"other.cu\"\n  a[\n]\n;\n__shared__\nalignas(\n16) int b;\n}\n";
  const std::string result = rewrite(text, {}).text;
  CHECK(std::count(result.begin(), result.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  CHECK(result.find("\n# 7 \"other.cu\"\n") != std::string::npos);
}

TEST_CASE("text that is not a program is accepted") {
  const std::string pieces[] = {"__shared__",
                                "extern ",
                                "(",
                                ")",
                                "[",
                                "]",
                                "{",
                                "}",
                                ";",
                                "<",
                                ">",
                                "\"",
                                "R\"x(",
                                "'",
                                "alignas",
                                "\n#",
                                "\n# 1 \"f\" 3\n",
                                " a",
                                "\\",
                                "1.5e+",
                                "__attribute__",
                                ",",
                                std::string(1, '\0'),
                                "\xff",
                                "static "};
  Random random(11);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t n = random.below(14); n > 0; --n) text += pieces[random.below(std::size(pieces))];
    const Rewritten result = rewrite(text, {});
    CHECK(std::count(result.text.begin(), result.text.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  }
}

TEST_CASE("tokens are cut where C++ cuts them") {
  std::vector<std::string> texts;
  for (const Token& token : user_tokens("a1+=0x1p-3f*1'000;'\\'' x.y 3.f::b")) texts.emplace_back(token.text);
  CHECK(texts == std::vector<std::string>{"a1", "+", "=", "0x1p-3f", "*", "1'000", ";", "'\\''", "x", ".", "y", "3.f",
                                          ":", ":", "b"});
}
