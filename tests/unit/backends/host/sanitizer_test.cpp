// Sanitized kernels, in a child process with the sanitizers loaded: this program, running one of its tests.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "backends/backend.hpp"
#include "backends/host/backend.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

using namespace xtune::backend;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::test;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr const char* no_child = "AddressSanitizer and ThreadSanitizer exclude each other";
#elif defined(__clang__) && defined(XTUNE_SANITIZED)
constexpr const char* no_child = "clang's sanitizer runtime is linked into this program and cannot serve kernels too";
#else
constexpr const char* no_child = nullptr;
#endif

bool skipped() {
  if (no_child) MESSAGE("skipped: " << std::string(no_child));
  return no_child != nullptr;
}

constexpr const char* kernel_variable = "XTUNE_TEST_KERNEL";

/// Compiles with --sanitize and runs it in a child: out[128] of int, 64 threads, 1024 bytes of dynamic shared memory.
CommandResult run_sanitized(const std::string& source, const std::string& entry = "k") {
  CompileRequest request;
  request.source_name = "kernel.cu";
  request.source = source;
  request.entry = entry;
  request.sanitize = true;
  const auto toolchain = make_backend("host")->open_toolchain();
  request.arch = toolchain->default_arch();
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "kernel.so").string();
  write_file_atomically(path, toolchain->compile(request).image);
  CommandOptions options;
  options.env = host::sanitizer_environment();
  options.env.emplace_back(kernel_variable, path);
  options.timeout_ms = 120000;
  return run_command({own_executable().string(), "--test-case=child of the sanitizer test", "--no-skip"}, options);
}

void check_report(const CommandResult& result, const std::string& what, const std::string& line) {
  CHECK_FALSE(result.ok());
  CHECK_MESSAGE(has(result.stderr_text, what), result.stderr_text);
  CHECK_MESSAGE(has(result.stderr_text, line), result.stderr_text);
}

}  // namespace

TEST_CASE("child of the sanitizer test" * doctest::skip()) {
  const char* path = std::getenv(kernel_variable);
  REQUIRE(path != nullptr);
  const auto device = make_backend("host")->open_device(0);
  Artifact artifact;
  artifact.arch = device->info().arch;
  artifact.entry_symbol = "xtune_kernel";
  artifact.image = read_file(path);
  const auto out = device->allocate(128 * sizeof(int));
  out->fill(0, out->size(), std::byte{0});
  const std::vector<KernelArgument> arguments = {out.get()};
  device->load(artifact, device::Launch{{2, 1, 1}, {64, 1, 1}, {0, 0, 0}, 1024})->run({arguments, true, 0});
  int last = 0;
  out->read(127 * sizeof(int), std::as_writable_bytes(std::span(&last, 1)));
  CHECK(last == 127);
}

TEST_CASE("a sanitized kernel without faults runs, fibers and all") {
  if (skipped()) return;
  const CommandResult result = run_sanitized(R"(extern "C" __global__ void k(int* out) {
  __shared__ int a[64];
  extern __shared__ int d[];
  for (int round = 0; round < 50; ++round) {
    a[threadIdx.x] = threadIdx.x;
    d[threadIdx.x + 192] = 1;
    __syncthreads();
    const int other = a[63 - threadIdx.x] + __shfl_xor_sync(0xffffffffu, 1, 1) * d[255 - threadIdx.x] - 1;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = blockIdx.x * 64 + 63 - other;
  }
})");
  CHECK_MESSAGE(result.ok(), (result.stdout_text + result.stderr_text));
}

TEST_CASE("a write beyond a buffer names its line") {
  if (skipped()) return;
  check_report(
      run_sanitized(
          "extern \"C\" __global__ void k(int* out) {\n  int i = blockIdx.x * 64 + threadIdx.x;\n  out[i + 1] = i;\n}"),
      "heap-buffer-overflow", "kernel.cu:3");
}

TEST_CASE("an index beyond a shared array names its line") {
  if (skipped()) return;
  check_report(
      run_sanitized("extern \"C\" __global__ void k(int* out) {\n  __shared__ int tile[64];\n  __syncthreads();\n"
                    "  tile[threadIdx.x + 1] = 1;\n  out[0] = tile[0];\n}"),
      "out of bounds", "kernel.cu:4");
}

TEST_CASE("an access beyond a shared array through a pointer names its line, in a template too") {
  if (skipped()) return;
  const std::string put = "__device__ __noinline__ void put(int* p, int i) { p[i] = 1; }\n";
  const std::string body =
      " __global__ void k(int* out) {\n  __shared__ int tile[64];\n  put(tile, threadIdx.x + 2 * (threadIdx.x == "
      "63));\n"
      "  __syncthreads();\n  out[0] = tile[0];\n}";
  check_report(run_sanitized(put + "extern \"C\"" + body), "heap-buffer-overflow", "kernel.cu:1");
  check_report(run_sanitized(put + "template <int N>" + body, "k<3>"), "heap-buffer-overflow", "kernel.cu:1");
}

TEST_CASE("an access beyond dynamic shared memory names its line") {
  if (skipped()) return;
  check_report(run_sanitized("extern \"C\" __global__ void k(int* out) {\n  extern __shared__ int tile[];\n  "
                             "tile[threadIdx.x + 193] = 1;\n"
                             "  out[0] = tile[0];\n}"),
               "AddressSanitizer", "kernel.cu:3");
}

TEST_CASE("undefined behaviour names its line") {
  if (skipped()) return;
  check_report(
      run_sanitized(
          "extern \"C\" __global__ void k(int* out) {\n  int big = 2147483647 - blockIdx.x;\n  out[0] = big + 1;\n}"),
      "signed integer overflow", "kernel.cu:3");
}

#ifndef XTUNE_SANITIZED
TEST_CASE("a sanitized kernel is refused where no sanitizer was loaded") {
  CompileRequest request{"k.cu", "extern \"C\" __global__ void k() {}", 1, {}, "k", {}, {}, "", true};
  const auto backend = make_backend("host");
  const auto toolchain = backend->open_toolchain();
  request.arch = toolchain->default_arch();
  const Artifact artifact = toolchain->compile(request);
  const auto device = backend->open_device(0);
  try {
    device->load(artifact, {});
    FAIL("loaded");
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::launch_failed);
    CHECK(has(failure.what(), "LD_PRELOAD"));
  }
}
#endif
