// The spec's arguments beside the kernel's signature.
#include <doctest/doctest.h>

#include "backends/backend.hpp"
#include "backends/cpu/native_kernel.hpp"

using namespace xtune;
using namespace xtune::measure;

namespace {

/// What a kernel with these parameters says to arguments; empty: it takes them.
std::string complaint(const std::string& parameters, const std::vector<ArgumentType>& arguments) {
  static const auto backend = backend::make_backend("host");
  static const auto toolchain = backend->open_toolchain();
  static const auto device = backend->open_device(0);
  build::CompileRequest request;
  request.source_name = "kernel.cu";
  request.entry = "k";
  request.source =
      "#include <cuda_fp16.h>\nstruct Point { float x, y; };\nstruct alignas(64) Map { char bytes[128]; };\n"
      "extern \"C\" __global__ void k(" +
      parameters + ") {}\n";
  request.arch = toolchain->default_arch();
  const auto program = device->load(toolchain->compile(request), device::Launch{{1, 1, 1}, {1, 1, 1}});
  try {
    program->check_types(arguments);
  } catch (const build::CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::launch_failed);
    return failure.what();
  }
  return "";
}

ArgumentType buffer(const std::string& name, DType dtype) { return {name, dtype, true}; }
ArgumentType scalar(const std::string& name, DType dtype) { return {name, dtype, false}; }

}  // namespace

TEST_CASE("types, counts and the order of arguments are compared with the kernel's") {
  const std::string conv = "const float* __restrict__ image, float* out, int height";
  const auto image = buffer("image", DType::f32), out = buffer("out", DType::f32), height = scalar("h", DType::i32);
  CHECK(complaint(conv, {image, out, height}).empty());
  CHECK(complaint(conv, {buffer("image", DType::f64), out, height})
            .starts_with("argument 1: the kernel takes const float*"));
  CHECK(complaint(conv, {buffer("image", DType::f64), out, height}).ends_with(", the spec's 'image' is f64"));
  CHECK(complaint(conv, {image, out, scalar("h", DType::f32)}) ==
        "argument 3: the kernel takes int, the spec's 'h' is f32");
  CHECK(complaint(conv, {image, out, scalar("h", DType::i64)}) ==
        "argument 3: the kernel takes int, the spec's 'h' is i64");
  CHECK(complaint(conv, {image, height, out}) ==
        "argument 2: the kernel takes float*, the spec's 'h' is a scalar of i32");
  CHECK(complaint(conv, {image, out, buffer("h", DType::i32)}) ==
        "argument 3: the kernel takes int, the spec's 'h' is a buffer of i32");
  const std::string count = complaint(conv, {image, out});
  CHECK(count.starts_with("the kernel takes 3 arguments (const float*"));
  CHECK(count.ends_with("float*, int), and the spec has 2 (image, out)"));
  CHECK(complaint("const __half* x", {buffer("x", DType::f32)}) ==
        "argument 1: the kernel takes const __half*, the spec's 'x' is f32");
}

TEST_CASE("a tensor map is passed by value, as 128 bytes") {
  const ArgumentType map{"a_map", DType::f16, false, true};
  CHECK(complaint("const __grid_constant__ Map m", {map}).empty());
  CHECK(complaint("Point p", {map}) ==
        "argument 1: the kernel takes Point, the spec's 'a_map' is a tensor map: declare the parameter as const "
        "__grid_constant__ CUtensorMap");
  CHECK(complaint("const Map* m", {map}).starts_with("argument 1: the kernel takes const Map*"));
}

TEST_CASE("types that stand for the same bytes are taken") {
  const std::string parameters =
      "const int* packed, const unsigned* bits, const float4* vectors, const void* any, const unsigned char* bytes, "
      "const unsigned short* raw, Point p, float2* complex, long long n, unsigned m, const double* z";
  CHECK(complaint(parameters, {buffer("packed", DType::i8), buffer("bits", DType::f32), buffer("vectors", DType::f32),
                               buffer("any", DType::f64), buffer("bytes", DType::i32), buffer("raw", DType::bf16),
                               scalar("p", DType::f64), buffer("complex", DType::c64), scalar("n", DType::u64),
                               scalar("m", DType::i32), buffer("z", DType::c128)}) == "");
  CHECK(complaint("const int* x", {buffer("x", DType::f32)}) != "");
  CHECK(complaint("const int* x", {buffer("x", DType::i64)}) != "");
  CHECK(complaint("const float* x", {buffer("x", DType::i32)}) != "");
}
