// The guarantees of a toolchain: entries, definitions, logs, failures, resource usage. Those that do not depend on the
// architecture are COMPILER_TESTs.
#include <set>
#include <span>

#include "backends/gpu/queue_timer.hpp"
#include "suite.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
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

COMPILER_TEST("a request's texts of headers stand for the files") {
  const system::TemporaryDirectory folder;
  const std::string header = (folder.path() / "h.h").string();
  system::write_file_atomically(header, "#error the file itself\n");
  auto request = request_for(t, "#include \"h.h\"\n__global__ void k(int* x) { x[0] = seven(); }\n", "k");
  request.include_dirs.push_back(folder.path().string());
  request.headers[header] = "#pragma once\n__device__ inline int seven() { return 7; }\n";
  compile(t, request);
  request.headers[header] = "\n  __device__ inline int seven() { return eight; }\n";
  const CandidateFailure failure = failing_compile(t, request);
  INFO(failure.log());
  CHECK(has(failure.what(), "h.h"));  // of a temporary directory: without its path
  CHECK(failure.log().find(header) == failure.log().find((folder.path().parent_path() / "xtune-").string()));
}

CONFORMANCE_TEST("variables of the source are found by their C++ names, and filled before launches") {
  auto request = request_for(t, R"(
__constant__ float plain[4];
namespace conv { __constant__ float plain[2]; __device__ int counter; }
static __constant__ double kept[3];
template <int N> __constant__ float table[N];
struct Pair { int a; float b; };
__constant__ Pair pair;
extern "C" __global__ void read(double* y) {
  y[0] = plain[0] + plain[3]; y[1] = conv::plain[1]; y[2] = conv::counter; y[3] = kept[2];
  y[4] = table<5>[4]; y[5] = pair.a + pair.b;
})",
                             "read");
  request.variables = {"plain", "conv::plain", "conv::counter", "kept", "table<5>", "pair"};
  const auto artifact = compile(t, request);
  REQUIRE(artifact.variables.size() == 6);
  CHECK(std::set<std::string>(artifact.variables.begin(), artifact.variables.end()).size() == 6);
  if (!t.device) return;
  const auto program = t.device->load(artifact, device::Launch{{1, 1, 1}, {1, 1, 1}});
  const auto put = [&](std::size_t number, const auto& values, std::size_t size) {
    const auto variable = program->variable(number);
    CHECK(variable->size() == size);
    variable->write(0, std::as_bytes(std::span(values)));
  };
  put(0, std::vector<float>{1, 2, 3, 4}, 16);
  put(1, std::vector<float>{5, 6}, 8);
  put(2, std::vector<int>{7}, 4);
  put(3, std::vector<double>{8, 9, 10}, 24);
  put(4, std::vector<float>{0, 0, 0, 0, 11}, 20);
  put(5, std::vector<int>{12, 0x40000000}, 8);  // 2.0f
  const auto y = upload(t, std::vector<double>(6));
  run(*program, arguments(y));
  CHECK(download<double>(*y) == std::vector<double>{5, 6, 7, 10, 11, 14});
  std::vector<float> back(4);
  program->variable(0)->read(0, std::as_writable_bytes(std::span(back)));
  CHECK(back == std::vector<float>{1, 2, 3, 4});
  // Another program has its own.
  const auto other = t.device->load(artifact, device::Launch{{1, 1, 1}, {1, 1, 1}});
  const std::vector<int> seventy{70};
  other->variable(2)->write(0, std::as_bytes(std::span(seventy)));
  run(*program, arguments(y));
  CHECK(download<double>(*y)[2] == 7);
}

CONFORMANCE_TEST("a variable of an anonymous namespace is found, too") {
  auto request = request_for(t, R"(
namespace conv { namespace { __constant__ int step; } }
extern "C" __global__ void read(int* y) { y[0] = conv::step; })",
                             "read");
  request.variables = {"conv::step"};
  const auto artifact = compile(t, request);
  if (!t.device) return;
  const auto program = t.device->load(artifact, device::Launch{{1, 1, 1}, {1, 1, 1}});
  const std::vector<int> seven{7};
  program->variable(0)->write(0, std::as_bytes(std::span(seven)));
  const auto y = upload(t, std::vector<int>(1));
  run(*program, arguments(y));
  CHECK(download<int>(*y) == seven);
}

COMPILER_TEST("a variable that the source does not have is an error that names it") {
  auto request = request_for(t, "extern \"C\" __global__ void f(int* x) { x[0] = 1; }\n", "f");
  request.variables = {"filter"};
  const auto failure = failing_compile(t, request);
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK(has(std::string(failure.what()) + failure.log(), "filter"));
  if (t.arch.starts_with("gfx")) CHECK(has(failure.what(), "constant 'filter' names no variable of kernel.cu"));
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

COMPILER_TEST("a compile error names file and line") {
  const auto failure = failing_compile(
      t, request_for(t, "extern \"C\" __global__ void broken(float* x) {\n  x[0] = undeclared_name;\n}\n", "broken"));
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK((has(failure.log(), "kernel.cu:2") || has(failure.log(), "kernel.cu(2)")));
  CHECK(has(failure.log(), "undeclared_name"));
  CHECK_FALSE(std::string(failure.what()).empty());
}

COMPILER_TEST("an error for lack of an included file names that file") {
  const auto failure = failing_compile(
      t, request_for(t, "#include \"no_such_file.cuh\"\nextern \"C\" __global__ void f() { needed(); }\n", "f"));
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK(has(failure.what(), "no_such_file.cuh"));
}

COMPILER_TEST("a static assertion is a compile error") {
  const auto failure = failing_compile(
      t,
      request_for(t, "static_assert(sizeof(int) == 3, \"three bytes\");\nextern \"C\" __global__ void f() {}\n", "f"));
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK(has(failure.log(), "three bytes"));
}

COMPILER_TEST("an entry that does not exist") {
  for (const char* entry : {"missing", "missing<3>", "ns::missing"}) {
    const auto failure = failing_compile(t, request_for(t, "extern \"C\" __global__ void present() {}", entry));
    CHECK(failure.outcome() == Outcome::compile_failed);
    CHECK(has(std::string(failure.what()) + failure.log(), "missing"));
  }
}

COMPILER_TEST("garbage is refused, not fatal") {
  // hipRTC 5.2 parses recursively: 100,000 braces need more than the usual stack of 8 MiB (a worker's crash in a run).
  for (const std::string& source :
       {std::string("\x01\x02\xff\xfe garbage {{{{ ((((", 22), std::string("#if 1\n"), std::string("/* never closed"),
        std::string("R\"x( never closed"), std::string(t.arch.starts_with("gfx") ? 200 : 100000, '{')}) {
    const auto failure = failing_compile(t, request_for(t, source + "\nextern \"C\" __global__ void f() {}\n", "f"));
    CHECK(failure.outcome() == Outcome::compile_failed);
  }
}

COMPILER_TEST("an unknown architecture is the caller's mistake") {
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

COMPILER_TEST("warnings are in the log of what compiles") {
  auto request = request_for(t, "#warning look_at_this\nextern \"C\" __global__ void f() {}\n", "f");
  CHECK(has(compile(t, request).log, "look_at_this"));
}

COMPILER_TEST("a toolchain reports its fingerprint and its architecture") {
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
  CompileRequest request = gpu::timing_request(t.arch);
  request.more_entries = {gpu::timing_kernel::spin, gpu::timing_kernel::clock};
  const Artifact artifact = compile(t, request);
  REQUIRE(artifact.entries.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(artifact.entries[i].symbol == entries_of(request)[i]);
}

CONFORMANCE_TEST("the kernel of docs/portable-kernels.md compiles") {
  CompileRequest request = request_for(
      t, system::read_file(XTUNE_CONFORMANCE_KERNELS "/../../../examples/portable/row_stats.cu"), "row_stats");
  request.defines = {{"ROWS_PER_BLOCK", "2"}, {"UNROLL", "2"}};
  request.more_entries = {"row_stats_simple"};
  CHECK_FALSE(compile(t, request).image.empty());
}
