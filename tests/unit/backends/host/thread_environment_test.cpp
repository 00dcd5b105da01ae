// Changes that a kernel makes to its threads' environment do not affect the next one.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "backends/host/block/kernel_library.hpp"
#include "fakes/environment_variable.hpp"
#include "fakes/host_kernels.hpp"
#include "system/files.hpp"

using namespace xtune::backend;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::measure;

using namespace xtune;

namespace {

struct Host : fakes::HostKernels {
  Artifact compile(const std::string& body, const std::vector<std::string>& options = {}) {
    return compile_source(
        "#include <cfenv>\n#include <cmath>\nextern \"C\" __global__ void k(int* out) {\n" + body + "}\n", options);
  }
  std::vector<int> run(const Artifact& artifact) {
    constexpr unsigned blocks = 256, threads = 8;
    std::vector<int> out(blocks * threads, -1);
    const auto to = device->allocate(out.size() * sizeof(int));
    const std::vector<KernelArgument> arguments = {to.get()};
    device->load(artifact, device::Launch{{blocks, 1, 1}, {threads, 1, 1}, {0, 0, 0}, 0})->run({arguments, true, 0});
    to->read(0, std::as_writable_bytes(std::span(out)));
    return out;
  }
};

constexpr const char* reads_rounding = "out[blockIdx.x * blockDim.x + threadIdx.x] = std::fegetround();\n";
constexpr const char* sums_denormals =
    "volatile float tiny = 1e-39f;\n"
    "out[blockIdx.x * blockDim.x + threadIdx.x] = tiny * 0.5f != 0.0f;\n";

}  // namespace

TEST_CASE("A kernel's rounding does not stay for the next kernel, on no thread") {
  Host host;
  const Artifact reads = host.compile(reads_rounding);
  const Artifact sets = host.compile(std::string("std::fesetround(FE_UPWARD);\n") + reads_rounding);
  const auto all = [](const std::vector<int>& values, int value) {
    return std::all_of(values.begin(), values.end(), [value](int v) { return v == value; });
  };
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(all(host.run(sets), FE_UPWARD));
    CHECK(all(host.run(reads), FE_TONEAREST));
    CHECK(std::fegetround() == FE_TONEAREST);
  }
}

TEST_CASE("Code of a kernel whose threads live on stays loaded") {
  Host host;
  const Artifact artifact = host.compile_source(
      "#include <atomic>\n#include <thread>\n"
      "extern \"C\" __global__ void k(std::atomic<int>* out) {\n"
      "  std::thread([=] { while (!out[1]) { ++out[0]; std::this_thread::yield(); } out[2] = 1; }).detach();\n}\n");
  const auto memory = host.device->allocate(3 * sizeof(int));
  memory->fill(0, 3 * sizeof(int), std::byte{0});
  const std::vector<KernelArgument> arguments = {memory.get()};
  host.device->load(artifact, device::Launch{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0})->run({arguments, true, 0});
  auto* const out = static_cast<std::atomic<int>*>(memory->address());
  for (const int seen = out[0]; out[0] < seen + 1000;) std::this_thread::yield();
  out[1] = 1;
  while (out[2] == 0) std::this_thread::yield();
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST_CASE("Denormal numbers that a kernel's options flush to zero are there for the next one") {
  Host host;
  const Artifact plain = host.compile(sums_denormals);
  const Artifact fast = host.compile(sums_denormals, {"-ffast-math"});
#if defined(__x86_64__)
  const std::string flush = "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);\n";
#else
  const std::string flush = "__builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1u << 24);\n";
#endif
  const Artifact flushes = host.compile(flush + sums_denormals);
  for (const Artifact* before : {&plain, &fast, &flushes}) {
    host.run(*before);
    for (const int seen : host.run(plain)) CHECK(seen == 1);
  }
}

TEST_CASE("Emptying the caches takes no memory, whatever their size, and changes nothing that a launch reads") {
  Host host;
  CompileRequest request;
  request.source_name = "kernel.cu";
  request.entry = "k";
  request.source =
      "__device__ int calls[1000];\n"
      "extern \"C\" __global__ void k(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + ++calls[999]; "
      "}\n";
  request.arch = host.toolchain->default_arch();
  request.variables = {"calls"};
  const Artifact artifact = host.toolchain->compile(request);
  const auto program = host.device->load(artifact, device::Launch{{1, 1, 1}, {1, 1, 1}});
  const auto in = host.device->allocate(100003), out = host.device->allocate(sizeof(int));
  in->fill(0, in->size(), std::byte{1});
  const std::vector<KernelArgument> arguments = {in.get(), out.get()};
  const std::vector<std::span<const KernelArgument>> again = {arguments};
  program->run({arguments, true, std::size_t{1} << 60, again});
  int result = 0;
  out->read(0, std::as_writable_bytes(std::span(&result, 1)));
  CHECK(result == 0x01010101 + 2);
  std::vector<std::byte> bytes(in->size());
  in->read(0, bytes);
  CHECK(std::count(bytes.begin(), bytes.end(), std::byte{1}) == 100003);
}
#endif

TEST_CASE("The memory of a loaded kernel is its code and its variables") {
  Host host;
  CompileRequest request;
  request.source_name = "kernel.cu";
  request.entry = "k";
  request.source = "__device__ int all[5000];\nextern \"C\" __global__ void k(int* out) { *out = all[*out]; }\n";
  request.arch = host.toolchain->default_arch();
  request.variables = {"all"};
  const Artifact artifact = host.toolchain->compile(request);
  const xtune::host::KernelLibrary library(artifact, request.arch);
  const auto contains = [memory = library.memory()](const void* begin, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(begin);
    return std::any_of(memory.begin(), memory.end(), [&](std::span<const std::byte> part) {
      return first >= part.data() && first + size <= part.data() + part.size();
    });
  };
  const XtuneKernel& kernel = *library.entry(0).kernel;
  CHECK(contains(&kernel, sizeof kernel));
  CHECK(contains(reinterpret_cast<const void*>(kernel.run_block), 1));
  CHECK(contains(library.variable(artifact.variables.at(0)).address, 5000 * sizeof(int)));
  CHECK_FALSE(contains(&host, 1));
}

TEST_CASE("A compiler that is a script is known by what it says") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "cxx";
  const auto fingerprint = [&](const std::string& line) {
    std::ofstream(path) << "#!/bin/sh\n" << line << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const Variable wanted("XTUNE_HOST_CXX", path.string());
    return make_backend("host")->open_toolchain()->fingerprint();
  };
  const std::string plain = fingerprint("exec g++ \"$@\"");
  CHECK(fingerprint("exec g++ -DSCALE=3 \"$@\"") != plain);
  CHECK(fingerprint("exec g++ \"$@\"") == plain);
}

TEST_CASE("The compiler lists headers that somebody installed beside the system's, and none of the system's") {
  Host host;
  CompileRequest request;
  request.source_name = "kernel.cu";
  request.entry = "k";
  request.arch = host.toolchain->default_arch();
  request.source = "#include <math.h>\n#include <vector>\nextern \"C\" __global__ void k(int* x) { *x = 1; }\n";
  const Artifact plain = host.toolchain->compile(request);
  REQUIRE(plain.files_read.has_value());
  CHECK(plain.files_read->files.empty());
  std::error_code ignored;
  if (!std::filesystem::exists("/usr/include/nlohmann/json_fwd.hpp", ignored)) return;
  request.source = "#include <nlohmann/json_fwd.hpp>\n" + request.source;
  const Artifact with = host.toolchain->compile(request);
  REQUIRE(with.files_read.has_value());
  CHECK(std::count(with.files_read->files.begin(), with.files_read->files.end(),
                   "/usr/include/nlohmann/json_fwd.hpp") == 1);
}
