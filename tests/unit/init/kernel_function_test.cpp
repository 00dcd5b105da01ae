// Signatures as people write them.
#include <doctest/doctest.h>

#include "core/init/source.hpp"

using namespace xtune;
using init::FunctionArgument;
using init::KernelFunction;

namespace {

std::vector<KernelFunction> kernels(const std::string& source) {
  return init::kernel_functions(init::tokenize(source).tokens);
}

KernelFunction only(const std::string& source) {
  CAPTURE(source);
  auto found = kernels(source);
  REQUIRE(found.size() == 1);
  return found.front();
}

/// "const float* x, int n"
std::string shown(const std::vector<FunctionArgument>& arguments) {
  std::string text;
  for (const FunctionArgument& argument : arguments)
    text += (text.empty() ? "" : ", ") + std::string(argument.is_const ? "const " : "") + argument.type +
            std::string(static_cast<std::size_t>(argument.pointers), '*') + (argument.is_reference ? "&" : "") +
            (argument.name.empty() ? "" : " " + argument.name);
  return text;
}

std::string arguments_of(const std::string& list) {
  return shown(only("__global__ void f(" + list + ") {}").arguments);
}

}  // namespace

TEST_CASE("arguments: types, pointers, names") {
  CHECK(arguments_of("") == "");
  CHECK(arguments_of("void") == "");
  CHECK(arguments_of("const float* x, float* y, int n") == "const float* x, float* y, int n");
  CHECK(arguments_of("const float *__restrict__ x, float * __restrict y") == "const float* x, float* y");
  CHECK(arguments_of("float const* const x") == "const float* x");
  CHECK(arguments_of("const unsigned long long int n") == "const unsigned long long int n");
  CHECK(arguments_of("unsigned n, size_t m, std::int64_t k, bool flag") ==
        "unsigned n, size_t m, std::int64_t k, bool flag");
  CHECK(arguments_of("const __half2* a, __nv_bfloat16* b, float4* c") ==
        "const __half2* a, __nv_bfloat16* b, float4* c");
  CHECK(arguments_of("const float*, int, unsigned int") == "const float*, int, unsigned int");
  CHECK(arguments_of("float x[16], int rows[]") == "float* x, int* rows");
  CHECK(arguments_of("const thrust::complex<float>* z, std::array<int, 3> dims") ==
        "const thrust::complex<float>* z, std::array<int,3> dims");
  CHECK(arguments_of("int n = 4, float alpha = f(1, 2)") == "int n, float alpha");
  CHECK(arguments_of("const Params p, const Params& q, float** rows") ==
        "const Params p, const Params& q, float** rows");
  CHECK(arguments_of("const __grid_constant__ Params p") == "const Params p");
  CHECK(arguments_of("[[maybe_unused]] int n, __align__(16) float* x") == "int n, float* x");
  CHECK(arguments_of("\n  const float* x,  // the input, (n) values\n  /* the output */ float* y\n") ==
        "const float* x, float* y");
}

TEST_CASE("where the function's name stands") {
  const char* const forms[] = {
      "extern \"C\" __global__ void f(int n) {}",
      "extern \"C\" {\n__global__ void f(int n) { if (n) { } }\n}",
      "__global__ void __launch_bounds__(256) f(int n) {}",
      "__global__ __launch_bounds__(256, 2) void f(int n) {}",
      "__launch_bounds__(256) __global__ void f(int n) {}",
      "static __global__ void f(int n) {}",
      "__global__ static inline void\nf\n(\n  int n\n)\n{\n}",
      "[[gnu::noinline]] __global__ void f(int n) {}",
      "__attribute__((used)) __global__ void __attribute__((aligned(64))) f(int n) {}",
      "#define KERNEL __global__ void g(int x) {}\n__global__ void f(int n) {}",
      "// __global__ void g() {}\nconst char* s = \"__global__ void g() {}\";\n__global__ void f(int n) {}",
      "__global__ void f(int n);\n__global__ void f(int n) {}",
      "#ifdef FAST\n__global__ void f(int n) {\n#else\n__global__ void f(int n, int m) {\n#endif\n}",
      "#if 0\n__global__ void g() {}\n#endif\n__global__ void f(int n) {}",
  };
  for (const char* const source : forms) {
    const KernelFunction kernel = only(source);
    CHECK(kernel.name == "f");
    CHECK(shown(kernel.arguments) == "int n");
  }
  CHECK(only("int x;\n\n__global__ void f() {}").line == 3);
  CHECK(init::text_of(only("__global__ void f() { a = b; }").body) == "a=b;");
}

TEST_CASE("launch bounds are found under the names of macros too") {
  CHECK(init::text_of(only("__global__ void __launch_bounds__(A * B, 2) f() {}").launch_bounds.at(0)) == "A*B");
  CHECK(init::text_of(only("__global__ void LAUNCH_BOUNDS(threads, 1)\n f() {}").launch_bounds.at(0)) == "threads");
  CHECK(only("__global__ void f() {}").launch_bounds.empty());
}

TEST_CASE("namespaces qualify, other braces do not") {
  CHECK(only("namespace a::b {\nstruct S { int x; };\nnamespace {\n__global__ void f() {}\n}\n}").qualified ==
        "a::b::f");
  CHECK(only("namespace a { void g() { } }\n__global__ void f() {}").qualified == "f");
  CHECK(only("inline namespace v1 { __global__ void f() {} }").qualified == "v1::f");
  const auto both = kernels("namespace a { __global__ void f() {} }\nnamespace b { __global__ void f() {} }");
  REQUIRE(both.size() == 2);
  CHECK(both[1].qualified == "b::f");
}

TEST_CASE("template parameters: types, numbers, defaults, packs") {
  const KernelFunction kernel = only(
      "template <typename T, class U = float, int Block = 128, bool Fast = (1 < 2), Mode M, typename... Rest>\n"
      "__global__ void f(T* x) {}");
  REQUIRE(kernel.templates.size() == 6);
  CHECK(kernel.templates[0].is_type());
  CHECK(kernel.templates[0].name == "T");
  CHECK(kernel.templates[1].default_value == "float");
  CHECK(kernel.templates[2].type == "int");
  CHECK(kernel.templates[2].name == "Block");
  CHECK(kernel.templates[2].default_value == "128");
  CHECK(kernel.templates[3].type == "bool");
  CHECK(kernel.templates[4].type == "Mode");
  CHECK(kernel.templates[5].is_pack);
  CHECK(only("template <class T> struct S {};\n__global__ void f() {}").templates.empty());
}

TEST_CASE("specialisations and instantiations are no kernels of their own") {
  CHECK(kernels("template <int N> __global__ void f(int n) {}\ntemplate <> __global__ void f<4>(int n) {}\n"
                "template __global__ void f<8>(int n);")
            .size() == 1);
  CHECK(kernels("").empty());
  CHECK(kernels("__global__ void f(").empty());
  CHECK(kernels("__global__").empty());
  CHECK(kernels("template <").empty());
}

TEST_CASE("types of a spec") {
  const init::TypeNames names(
      init::tokenize("using Input = __half;\ntypedef unsigned int u32;\n#define REAL double\n"
                     "using Loop = Loop;\nusing Pair = float2;\n"));
  const auto shown_type = [&](const std::string& type) -> std::string {
    const auto element = names.element_type(type);
    if (!element) return "none";
    return std::string(to_string(element->type)) + (element->lanes > 1 ? " x " + std::to_string(element->lanes) : "");
  };
  const std::pair<const char*, const char*> types[] = {{"float", "f32"},
                                                       {"double", "f64"},
                                                       {"unsigned", "u32"},
                                                       {"long long", "i64"},
                                                       {"size_t", "u64"},
                                                       {"std::uint8_t", "u8"},
                                                       {"bool", "bool"},
                                                       {"half", "f16"},
                                                       {"__half2", "f16 x 2"},
                                                       {"float4", "f32 x 4"},
                                                       {"uchar3", "u8 x 3"},
                                                       {"__nv_bfloat162", "bf16 x 2"},
                                                       {"hip_bfloat16", "bf16"},
                                                       {"xtune::f16", "f16"},
                                                       {"xtune::bf16", "bf16"},
                                                       {"xtune::tf32", "f32"},
                                                       {"xtune::f8e4m3", "f8e4m3"},
                                                       {"const xtune::f8e5m2", "f8e5m2"},
                                                       {"cuFloatComplex", "c64"},
                                                       {"cuda::std::complex<double>", "c128"},
                                                       {"Input", "f16"},
                                                       {"u32", "u32"},
                                                       {"REAL", "f64"},
                                                       {"Pair", "f32 x 2"},
                                                       {"Loop", "none"},
                                                       {"Params", "none"},
                                                       {"float9", "none"},
                                                       {"", "none"}};
  for (const auto& [type, expected] : types) {
    CAPTURE(type);
    CHECK(shown_type(type) == expected);
  }
}
