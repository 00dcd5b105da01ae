// The guarantees of a toolchain: entries, definitions, logs, failures, resource usage.
#include "backends/gpu/timing_kernels.hpp"
#include "suite.hpp"
#include "support/text.hpp"
#include "xtune/error.hpp"

using namespace xtune::build;

using namespace xtune;
using namespace xtune::conformance;
using namespace xtune::test;

CONFORMANCE_TEST("a template-id is an entry") {
  const std::string source = R"(
namespace fills { template <int VALUE, class T> __global__ void fill(T* x) { x[threadIdx.x] = VALUE; } }
template <int A, int B> __global__ void fill(int* x) { x[threadIdx.x] = A * 10 + B; })";
  const auto floats = compile(t, source, "fills::fill<7, float>");
  const auto ints = compile(t, source, "fill<3, 4>");
  CHECK(floats.image != ints.image);
  if (!t.device) return;
  const auto x = upload(t, std::vector<float>(8)), y = upload(t, std::vector<int>(8));
  run(t, floats, {{1, 1, 1}, {8, 1, 1}}, arguments(x));
  run(t, ints, {{1, 1, 1}, {8, 1, 1}}, arguments(y));
  CHECK(download<float>(*x) == std::vector<float>(8, 7.0f));
  CHECK(download<int>(*y) == std::vector<int>(8, 34));
}

CONFORMANCE_TEST("definitions and options reach the kernel") {
  auto request =
      request_for(t, "extern \"C\" __global__ void store(ELEMENT* x) { x[threadIdx.x] = VALUE + OFFSET; }", "store");
  request.defines = {{"VALUE", "40"}, {"ELEMENT", "float"}};
  request.options.push_back("-DOFFSET=2");
  const auto artifact = compile(t, request);
  CHECK(artifact.compile_s > 0);
  CHECK_FALSE(artifact.image.empty());
  CHECK_FALSE(artifact.format.empty());
  CHECK(artifact.arch == t.arch);
  CHECK(artifact.key.empty());
  if (!t.device) return;
  const auto x = upload(t, std::vector<float>(4));
  run(t, artifact, {{1, 1, 1}, {4, 1, 1}}, arguments(x));
  CHECK(download<float>(*x) == std::vector<float>(4, 42.0f));
}

CONFORMANCE_TEST("a compile error names file and line") {
  const auto failure = failing_compile(
      t, request_for(t, "extern \"C\" __global__ void broken(float* x) {\n  x[0] = undeclared_name;\n}\n", "broken"));
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK((has(failure.log(), "kernel.cu:2") || has(failure.log(), "kernel.cu(2)")));
  CHECK(has(failure.log(), "undeclared_name"));
  CHECK_FALSE(std::string(failure.what()).empty());
}

CONFORMANCE_TEST("an error in an included file names that file") {
  const auto failure =
      failing_compile(t, request_for(t, "#include \"no_such_file.cuh\"\nextern \"C\" __global__ void f() {}\n", "f"));
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK(has(failure.log(), "no_such_file.cuh"));
}

CONFORMANCE_TEST("a static assertion is a compile error") {
  const auto failure = failing_compile(
      t,
      request_for(t, "static_assert(sizeof(int) == 3, \"three bytes\");\nextern \"C\" __global__ void f() {}\n", "f"));
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK(has(failure.log(), "three bytes"));
}

CONFORMANCE_TEST("an entry that does not exist") {
  for (const char* entry : {"missing", "missing<3>", "ns::missing"}) {
    const auto failure = failing_compile(t, request_for(t, "extern \"C\" __global__ void present() {}", entry));
    CHECK(failure.outcome() == Outcome::compile_failed);
    CHECK(has(std::string(failure.what()) + failure.log(), "missing"));
  }
}

CONFORMANCE_TEST("garbage is refused, not fatal") {
  // hipRTC 5.2 parses recursively: 100,000 braces need more than the usual stack of 8 MiB (a worker's crash in a run).
  for (const std::string& source :
       {std::string("\x01\x02\xff\xfe garbage {{{{ ((((", 22), std::string("#if 1\n"), std::string("/* never closed"),
        std::string("R\"x( never closed"), std::string(t.arch.starts_with("gfx") ? 200 : 100000, '{')}) {
    const auto failure = failing_compile(t, request_for(t, source + "\nextern \"C\" __global__ void f() {}\n", "f"));
    CHECK(failure.outcome() == Outcome::compile_failed);
  }
}

CONFORMANCE_TEST("an unknown architecture is the caller's mistake") {
  auto request = request_for(t, "extern \"C\" __global__ void f() {}", "f");
  request.arch = "sm_12345_no_such";
  try {
    t.toolchain->compile(request);
    FAIL("it compiled");
  } catch (const Error& error) {
    CHECK((error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::unsupported));
    CHECK(has(error.what(), "sm_12345_no_such"));
  }
}

CONFORMANCE_TEST("warnings are in the log of what compiles") {
  auto request = request_for(t, "#warning look_at_this\nextern \"C\" __global__ void f() {}\n", "f");
  CHECK(has(compile(t, request).log, "look_at_this"));
}

CONFORMANCE_TEST("the toolchain has a fingerprint and an architecture of its own") {
  CHECK(t.toolchain->fingerprint() == t.toolchain->fingerprint());
  CHECK(t.toolchain->fingerprint().size() > 3);
  auto request = request_for(t, "extern \"C\" __global__ void f() {}", "f");
  request.arch = t.toolchain->default_arch();
  CHECK_FALSE(compile(t, request).image.empty());
}

CONFORMANCE_TEST("registers and spills are reported") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void __launch_bounds__(256) heavy(const float* x, float* y) {
  float v[8];
  for (int i = 0; i < 8; ++i) v[i] = x[threadIdx.x * 8 + i];
  float s = 0.0f;
  for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) s += v[i] * v[j] * (float)(i + 3 * j);
  y[threadIdx.x] = s;
})",
                                "heavy");
  REQUIRE(artifact.usage.registers.has_value());
  CHECK(*artifact.usage.registers > 0);
  CHECK(artifact.usage.spilled_bytes.value_or(-1) == 0);
}

CONFORMANCE_TEST("static shared memory is reported") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void tile(float* x) {
  __shared__ float big[1024];
  big[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = big[1023 - threadIdx.x];
})",
                                "tile");
  CHECK(artifact.usage.static_shared_bytes.value_or(-1) == 4096);
}

CONFORMANCE_TEST("the timing kernels compile") {
  const CompileRequest request = gpu::timing_request(t.arch);
  CHECK(compile(t, request).entry_symbol == request.entry);
  for (const char* other : {gpu::timing_kernel::spin, gpu::timing_kernel::clock}) {
    CompileRequest same = request;
    same.entry = other;
    CHECK(compile(t, same).entry_symbol == other);
  }
}
