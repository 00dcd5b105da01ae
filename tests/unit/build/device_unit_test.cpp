#include "core/build/device_unit.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "system/files.hpp"

namespace {

using xtune::build::device_unit;
using xtune::build::UnitRoots;

/// The lines that are left, without blanks around them.
std::string left(const std::string& source, const UnitRoots& roots = {{"k"}}) {
  const std::string unit = device_unit(source, {}, roots).source;
  CHECK(unit.size() == source.size());
  std::string text;
  for (const std::string_view line : xtune::base::split_lines(unit))
    if (const auto words = xtune::base::trimmed(line); !words.empty()) text += std::string(words) + "\n";
  return text;
}

const std::string k = "__global__ void k(float* x) { x[0] = 1; }\n";
const std::string main_function = "int main() { k<<<1, 1>>>(0); }\n";

}  // namespace

TEST_CASE("what a program has besides its kernel is left out") {
  for (const std::string host :
       {"void f();\n",
        "static int f(int a, char** b) { if (a) { return 1; } return 0; }\n",
        "std::vector<float> v(10);\n",
        "FILE* file = 0;\n",
        "int a = 1, *b, c[2] = {1, 2};\n",
        "template <typename T, int N = (3 > 2)> T f(T x) { return x; }\n",
        "template void f<int>(int);\n",
        "template <> void f<int>(int x) { g(x); }\n",
        "extern \"C\" int f(void);\n",
        "Timer::Timer(int n) : n_(n), m_{n} { start(); }\n",
        "void Timer::start() const noexcept { }\n",
        "__host__ void f() { }\n",
        "std::ostream& operator<<(std::ostream& out, int x) { return out; }\n",
        "void (*f)(int) = nullptr;\n",
        "auto f = [](int x) { return x; };\n",
        "struct Timer { void start(); }; void f(Timer t) { t.start(); }\n",
        "typedef std::chrono::steady_clock Clock; Clock::time_point now() { return Clock::now(); }\n",
        "using Clock = std::chrono::steady_clock; Clock::time_point now();\n",
        "int A; int f() { return A; }\n",
        "[[nodiscard]] int f() try { return 1; } catch (...) { }\n",
        "int f() { const char* s = R\"(}\"{)\"; return '}'; } // }\n",
        "const char* names[] = {\"a\", \"b\"}; int n(2);\n",
        "__global__ void other(float* y) { y[0] = 2; }\n"}) {
    CAPTURE(host);
    const std::string unit = left(host + k + main_function);
    CHECK((unit == k || unit == "// }\n" + k));
  }
}

TEST_CASE("what gets its space from a declaration, an attribute or a pragma stays beside a marked function") {
  for (const std::string unmarked :
       {"template <> inline float f<float>(float x) { return 2; }\n", "template <> float S<float>::f() { return 2; }\n",
        "static __attribute__((device)) float f(float x) { return 2; }\n", "explicit f(float) -> f<int>;\n",
        "#pragma clang force_cuda_host_device begin\nfloat f(float x) { return 2; }\n"}) {
    CAPTURE(unmarked);
    const std::string marked = "template <class T> __device__ T f(T x) { return 1; }\n";
    const std::string kernel = "__global__ void k(float* x) { x[0] = f(x[1]); }\n";
    CHECK(left(marked + unmarked + kernel + main_function) == marked + unmarked + kernel);
  }
  const std::string text =
      "__device__ float f(float);\nfloat f(float x) { return 2; }\n"
      "__global__ void k(float* x) { x[0] = f(x[1]); }\n";
  CHECK(left(text + main_function) == text);
}

TEST_CASE("what a kernel uses stays, with or without a mark") {
  for (const std::string used :
       {"inline float f(float x) { return x; }\n", "float f(float);\n", "#define f(x) g(x)\nfloat g(float);\n",
        "namespace a { namespace b { float f(float x) { return 1; } } }\n", "typedef float (*f)(float);\n",
        "template <class T> struct f { T x; f(T y) : x(y) { } };\n", "const int n(5); enum { f = n };\n",
        "struct __align__(8) f { float x; };\nf operator+(f a, f b);\n",
        "#ifdef A\nfloat f(float x) { return 1; }\n#else\nfloat f(float x) { return 2; }\n#endif\n",
        "#define HD __host__ __device__\nHD float f(float);\n", "struct S { int a; } f;\n",
        "MACRO(f)\nSOME_NAMESPACE_BEGIN\nfloat f(int);\nSOME_NAMESPACE_END\n",
        "static_assert(sizeof(S) == 4, \"\");\nfloat f(int);\n", "float f(int), g(int);\n"}) {
    CAPTURE(used);
    const std::string kernel = "__global__ void k(float* x) { x[0] = f(x[1]); }\n";
    CHECK(left(used + kernel + main_function) == used + kernel);
  }
}

TEST_CASE("what may matter without its name stays") {
  for (const std::string code :
       {// Macros that make code.
        "#define SPECIALIZE(T, V) template <> struct Traits<T> { static constexpr int value = V; }\nSPECIALIZE(float, "
        "4);\n",
        "#define IMPORT(n) using p::n\nIMPORT(f);\n", "ELSEWHERE(float, 4);\n",
        "#define SPEC(T, V) template <> struct Traits<T> { };\n#define ALL_SPECS SPEC(float, 4) SPEC(double, 8)\n"
        "ALL_SPECS\nvoid host() { }\n",
        "SPEC(float, 4) SPEC(double, 8)\nstatic float host(float x) { return x; }\n",
        "#define TEMPLATE(T) template <class T>\nTEMPLATE(T)\nvoid host(T v) { }\n",
        "#define FN(x) mylib_##x\n__device__ float FN(add)(float, float);\n",
        "#define sq(x) square(x)\n__device__ float sq(float v) { return v; }\n",
        // Operators and what their types are.
        "struct Mask { bool m; operator bool() const { return !m; } };\n__device__ inline Mask operator<(Vec a, Vec "
        "b);\n",
        "struct T { std::string name; };\ntemplate <class T> __device__ float operator*(T a, Half b);\n",
        "struct Deg { };\nconstexpr Deg operator\"\"_deg(unsigned long long v) { return {}; }\n",
        // Called without a name, or instead of the function with a mark.
        "__device__ int* begin(Range r);\n__device__ int* end(Range r);\n",
        "constexpr int f(int v) { return v; }\n__device__ double f(double v);\n",
        "HD float f(float v) { return v; }\n__device__ double f(double v);\n",
        // Specialisations of a library's types, enumerators, parts in other branches.
        "namespace std { template <> struct tuple_size<P> { }; }\n", "template <> struct std::tuple_size<P> { };\n",
        "enum Mode {\n#ifdef OLD\nOLDER\n#else\nNEWER\n#endif\n};\n",
        "const int w = 1, h =\n#ifdef X\n3;\n#else\n5, depth = 6;\n#endif\n", "#define CUB CUB_VERSION\n"}) {
    CAPTURE(code);
    const std::string kernel = "__global__ void k(float* x) { x[0] = f(1); }\n";
    CHECK(left(code + kernel + main_function) == code + kernel);
  }
  // Wherever a name stands.
  for (const char* use : {"a * f<float>(3)", "a > f<float>() ? 1 : 2", "return &f;", "use(f, 3); { float f = s; }"}) {
    CAPTURE(use);
    const std::string code = std::string("float f(float);\n__device__ float g() { ") + use +
                             "; }\n__global__ void k(float* x) { x[0] = g(); }\n";
    CHECK(left(code + main_function) == code);
  }
  const std::string asks = "#include <cub/version.cuh>\n#ifdef CUB_VERSION\n#endif\n";
  CHECK(left(asks + k + main_function) == asks + k);
}

TEST_CASE("names decide") {
  // Members are others.
  CHECK(left("void f();\n__global__ void k(S s) { s->f(); s.g = 1; }\nvoid g();\n" + main_function) ==
        "__global__ void k(S s) { s->f(); s.g = 1; }\n");
  // A function without a mark is not kept beside one with a mark.
  CHECK(left("int f(long x);\n__device__ int f(int x) { return x; }\n__global__ void k() { f(1); }\n") ==
        "__device__ int f(int x) { return x; }\n__global__ void k() { f(1); }\n");
  // A parameter hides what has its name outside.
  CHECK(left("float x = cos(1); int w; struct S { }; struct Q { }; int n;\n__global__ void k(float* x, const S, int "
             "w[], Q n) "
             "{ x[0] = ::w + n; }\n" +
             main_function) ==
        "int w; struct S { }; struct Q { };\n__global__ void k(float* x, const S, int w[], Q n) { x[0] = ::w + n; }\n");
  // Words of the spec.
  CHECK(left("struct A { }; struct B { };\n" + k + main_function, {{"k"}, "k<A>;"}) == "struct A { };\n" + k);
  CHECK(left("float f(float);\n" + k + main_function, {{"k"}, "f"}) == "float f(float);\n" + k);
  // An entry that is not here: all kernels stay.
  CHECK(left(k + "__global__ void k2();\n" + main_function, {{"elsewhere"}}) == k + "__global__ void k2();\n");
  // Names that a macro makes.
  CHECK(left("#define M(a) f##a\nint f1; void f2();\n__global__ void k() { M(1); }\n" + main_function) ==
        "#define M(a) f##a\nint f1;\n__global__ void k() { M(1); }\n");
}

TEST_CASE("names that are macros") {
  // Defined behind the function, the macro is not its name; nor is a class's name a mark.
  CHECK(left("void check(Status s) { }\n" + k + "#define check(s) check(s)\n" + main_function) ==
        k + "#define check(s) check(s)\n");
  CHECK(left("#define check(s) test(s)\nvoid check(Status s) { }\n" + k + main_function) ==
        "#define check(s) test(s)\nvoid check(Status s) { }\n" + k);
  CHECK(left("#define NAME Program\nclass NAME : Base { std::string s; };\n" + k + main_function) ==
        "#define NAME Program\n" + k);
  CHECK(left("#define NAME Box\nclass NAME { };\n__global__ void k(Box b) { }\n" + main_function) ==
        "#define NAME Box\nclass NAME { };\n__global__ void k(Box b) { }\n");
  const std::string marked = "__device__ int at(int i) { return i; }\n__global__ void k() { at(1); }\n";
  CHECK(left("struct S {\n#ifdef A\nstd::string a;\n#else\nint b;\n#endif\n};\n" + k + main_function) ==
        "#ifdef A\n#else\n#endif\n" + k);
  CHECK(left("int APP::at(int i) { return table[i]; }\n" + marked + main_function) == marked);
  CHECK(left("API int at(long i) { return i; }\n" + marked + main_function) ==
        "API int at(long i) { return i; }\n" + marked);
}

TEST_CASE("lines, columns and directives stay") {
  const std::string source =
      "#include <stdio.h>\nint main(int argc,\r\n\tchar** argv) {  // \xC3\xA4\n#ifdef A\n#include \"a.inc\"\n#pragma "
      "omp "
      "parallel\n  f();\n#define N 3\n#endif\n}  __global__ void k() { }\n";
  const std::string unit = device_unit(source, {}, {{"k"}}).source;
  CHECK(unit.find("__global__") == source.find("__global__"));
  CHECK(left(source) == "#include <stdio.h>\n// \xC3\xA4\n#ifdef A\n#define N 3\n#endif\n__global__ void k() { }\n");
}

TEST_CASE("a library of host functions is omitted unless the kernels name it") {
  const std::string includes = "#include <cub/cub.cuh>\n#include \"thrust/sort.h\"\n#include <cuda.h>\n";
  CHECK(left(includes + k + main_function) == "#include <cuda.h>\n" + k);
  const std::string uses = "__global__ void k() { cub::Block b; thrust::sort(b); }\n";
  CHECK(left(includes + uses + main_function) == includes + uses);
  CHECK(left(includes + k) == includes + k);
}

TEST_CASE("what does not balance stays") {
  for (const std::string& source : {"int main() { if (x) {\n" + k, "void f( {\n" + k, ") } ] >\n" + k})
    CHECK(device_unit(source, {}, {{"k"}}).source == source);
}

TEST_CASE("headers are cut likewise, and say what a macro means") {
  const auto unit = device_unit("#include \"h.h\"\nHD int f(int);\nvoid g();\n" + k + main_function,
                                {{"h.h", "#define HD __device__\nvoid host() { exit(1); }\nint used();\n"},
                                 {"k.h", "template <class T> T unused(T x) { return x; }\n"}},
                                {{"k"}, "used()"});
  CHECK(unit.headers.at("h.h").find("exit") == std::string::npos);
  CHECK(unit.headers.at("h.h").find("int used();") != std::string::npos);
  CHECK(unit.left_out.at("host") == 2);
}

TEST_CASE("a class that launches a kernel is host code") {
  CHECK(left("#define NAME Program\n" + k + "class NAME { void run() { k<<<1, 1>>>(0); } std::string s; };\n") ==
        "#define NAME Program\n" + k);
  CHECK(left(k + "class A { void run() { hipLaunchKernelGGL(k, 1, 1, 0, 0, x); } };\n") == k);
}

TEST_CASE("what a file needs that stays as it is") {
  // No host code in the source, so all of its kernels stay, and what they use of the header.
  const auto unit = device_unit("#include \"h.h\"\n" + k + "template __global__ void other<float, FILL>(float*);\n",
                                {{"h.h", "typedef enum Mode { FILL = 0 } Mode;\nvoid host();\n"}}, {{"k"}});
  CHECK(unit.headers.at("h.h") == "typedef enum Mode { FILL = 0 } Mode;\n            \n");
}

TEST_CASE("files of kernels stay as they are") {
  namespace fs = std::filesystem;
  int files = 0;
  for (const char* directory : {"kernels", "examples", "tests/faults"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(XTUNE_SOURCE_DIR) / directory)) {
      if (entry.path().extension() != ".cu" && entry.path().extension() != ".hip") continue;
      CAPTURE(entry.path());
      const std::string source = xtune::system::read_file(entry.path());
      if (source.find("main(") != std::string::npos) continue;
      CHECK(device_unit(source, {}, {}).source == source);
      ++files;
    }
  CHECK(files > 20);
}
