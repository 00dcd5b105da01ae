// HIP's calls on the emulator: devices, memory, streams, modules, and the words of errors.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "emulator/hip/emulated_gpu.hpp"
#include "emulator/hip/runtime_state.hpp"
#include "emulator/hip/simulated_time.hpp"
#include "emulator/tests/snippet.hpp"
#include "support/text.hpp"

using namespace xtune;
using emulator::Kind;
using emulator::Report;
using test::has;

namespace {

/// Two emulated GPUs, chosen before the first call.
bool has_gpus() {
  setenv("XTUNE_EMULATED_ARCH", "gfx942,gfx1100", 1);
  return test::can_emulate();
}

/// A kernel `words` of these instructions (snippet.hpp) with two pointers.
std::string code_of(const std::string& body, const std::string& arch) {
  const std::string pointer = ", .size: 8, .value_kind: global_buffer, .address_space: global }\n";
  return test::assemble(
      test::snippet_kernel("words", body, arch) +
          ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--" + arch +
          "\namdhsa.kernels:\n  - .name: words\n    .symbol: words.kd\n    .kernarg_segment_size: 16\n"
          "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n"
          "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 48\n"
          "    .vgpr_count: 128\n    .max_flat_workgroup_size: 256\n    .args:\n      - { .offset: 0" +
          pointer + "      - { .offset: 8" + pointer + "...\n.end_amdgpu_metadata\n",
      arch);
}

struct Buffer {
  explicit Buffer(std::size_t bytes) { REQUIRE(hipMalloc(&address, bytes) == hipSuccess); }
  ~Buffer() { static_cast<void>(hipFree(address)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* address = nullptr;
};

/// The device as it was before a fault.
void revive() {
  emulator::runtime_state().lost = hipSuccess;
  emulator::runtime_state().fault.clear();
}

}  // namespace

TEST_CASE("each architecture of the variable is a device with the facts of its product") {
  if (!has_gpus()) return;
  int count = 0, lanes = 0;
  REQUIRE(hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == 2);
  char name[64];
  for (const auto& [index, arch, wave] : {std::tuple(0, "gfx942", 64), std::tuple(1, "gfx1100", 32)}) {
    REQUIRE(hipDeviceGetName(name, sizeof name, index) == hipSuccess);
    CHECK(std::string(name) == device::emulated_name(arch));
    REQUIRE(hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, index) == hipSuccess);
    CHECK(lanes == wave);
    hipDeviceProp_t properties;
    REQUIRE(hipGetDeviceProperties(&properties, index) == hipSuccess);
    CHECK(std::string(properties.gcnArchName) == device::emulated_arch(arch));
  }
  CHECK(hipDeviceGetName(name, sizeof name, 2) == hipErrorInvalidDevice);
  CHECK(hipSetDevice(2) == hipErrorInvalidDevice);
  CHECK(hipDeviceGetAttribute(&lanes, hipDeviceAttributeTextureAlignment, 0) == hipErrorInvalidValue);
}

TEST_CASE("copies and fills stay inside of allocations") {
  if (!has_gpus()) return;
  const Buffer block(100);
  std::array<unsigned char, 101> host{};
  CHECK(hipMemset(block.address, 7, 100) == hipSuccess);
  CHECK(hipMemcpy(host.data(), block.address, 100, hipMemcpyDeviceToHost) == hipSuccess);
  CHECK(host[99] == 7);
  CHECK(host[100] == 0);
  CHECK(hipMemset(block.address, 7, 101) == hipErrorInvalidValue);
  CHECK(hipMemcpy(block.address, host.data(), 101, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpy(host.data(), host.data(), 8, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  CHECK(hipFree(static_cast<char*>(block.address) + 1) == hipErrorInvalidValue);
  hipDeviceptr_t base = nullptr;
  std::size_t bytes = 0;
  CHECK(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(block.address) + 50) == hipSuccess);
  CHECK(base == block.address);
  CHECK(bytes == 100);
  void* none = nullptr;
  CHECK(hipMalloc(&none, std::size_t{1} << 60) == hipErrorOutOfMemory);
  CHECK(hipGetLastError() == hipErrorOutOfMemory);
  CHECK(hipGetLastError() == hipSuccess);
}

TEST_CASE("a module is for the GPU that is current when it is loaded") {
  if (!has_gpus()) return;
  const std::string code = code_of("v_add_u32 v4, v0, v1", "gfx942");
  hipModule_t module = nullptr;
  REQUIRE(hipSetDevice(1) == hipSuccess);
  CHECK(hipModuleLoadData(&module, code.data()) == hipErrorNoBinaryForGpu);
  CHECK(std::string(hipGetErrorString(hipErrorNoBinaryForGpu)) ==
        "the code object is for 'gfx942', and the emulated GPU is gfx1100");
  REQUIRE(hipSetDevice(0) == hipSuccess);
  CHECK(hipModuleLoadData(&module, "not a code object") == hipErrorInvalidImage);
  REQUIRE(hipModuleLoadData(&module, code.data()) == hipSuccess);
  hipFunction_t function = nullptr;
  CHECK(hipModuleGetFunction(&function, module, "other") == hipErrorNotFound);
  CHECK(hipModuleUnload(module) == hipSuccess);
  CHECK(hipModuleUnload(module) == hipErrorInvalidHandle);
  CHECK(hipModuleGetFunction(&function, module, "words") == hipErrorInvalidHandle);
}

TEST_CASE("a launch computes, takes simulated time, and a fault loses the device with its words") {
  if (!has_gpus()) return;
  REQUIRE(hipSetDevice(0) == hipSuccess);
  const std::string code = code_of("v_add_u32 v4, v0, v1", "gfx942");
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  REQUIRE(hipModuleLoadData(&module, code.data()) == hipSuccess);
  REQUIRE(hipModuleGetFunction(&function, module, "words") == hipSuccess);
  int value = 0;
  CHECK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, function) == hipSuccess);
  CHECK(value == 128);
  CHECK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == hipSuccess);
  CHECK(value == 256);
  std::vector<test::Words> inputs(64, test::Words{40, 2, 0, 0}), results(64);
  const std::size_t bytes = inputs.size() * sizeof inputs[0];
  const Buffer from(bytes), to(bytes - 1);
  Buffer whole(bytes);
  REQUIRE(hipMemcpy(from.address, inputs.data(), bytes, hipMemcpyHostToDevice) == hipSuccess);
  const auto launch = [&](const Buffer& target, unsigned threads = 64) {
    void* arguments[] = {const_cast<void**>(&from.address), const_cast<void**>(&target.address)};
    return hipModuleLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr);
  };
  CHECK(launch(whole, 257) == hipErrorLaunchFailure);
  CHECK(std::string(hipGetErrorString(hipErrorLaunchFailure)) ==
        "kernel 'words' has launch bounds of 256 threads, and the block has 257; use a smaller block, or larger "
        "__launch_bounds__");
  CHECK(hipDeviceSynchronize() == hipSuccess);
  const double before_ms = emulator::runtime_state().clock_ms;
  REQUIRE(launch(whole) == hipSuccess);
  CHECK(emulator::runtime_state().clock_ms > before_ms);
  REQUIRE(hipMemcpy(results.data(), whole.address, bytes, hipMemcpyDeviceToHost) == hipSuccess);
  for (const test::Words& each : results) CHECK(each == test::Words{42, 0, 0, 0});

  CHECK(launch(to) == hipErrorLaunchFailure);
  const std::string words = hipGetErrorString(hipErrorLaunchFailure);
  for (const char* part : {"kernel 'words', 'global_store_dwordx4 ", "lane 63: writes 16 bytes at "})
    CHECK_MESSAGE(has(words, part), words);
  CHECK(hipDeviceSynchronize() == hipErrorLaunchFailure);
  CHECK(hipGetDeviceCount(&value) == hipErrorLaunchFailure);
  revive();
  CHECK(hipDeviceSynchronize() == hipSuccess);
  CHECK(hipModuleUnload(module) == hipSuccess);
  CHECK(std::string(hipGetErrorName(hipErrorLaunchFailure)) == "hipErrorLaunchFailure");
  CHECK(std::string(hipGetErrorName(static_cast<hipError_t>(12345))) == "hipErrorUnknown");
}

TEST_CASE("events are times of the simulated clock") {
  if (!has_gpus()) return;
  hipEvent_t start = nullptr, stop = nullptr;
  REQUIRE(hipEventCreate(&start) == hipSuccess);
  REQUIRE(hipEventCreate(&stop) == hipSuccess);
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, start, stop) == hipErrorInvalidHandle);  // nothing was recorded
  const Buffer block(1 << 20);
  REQUIRE(hipEventRecord(start, nullptr) == hipSuccess);
  REQUIRE(hipMemset(block.address, 0, 1 << 20) == hipSuccess);
  REQUIRE(hipEventRecord(stop, nullptr) == hipSuccess);
  CHECK(hipEventElapsedTime(&ms, start, stop) == hipSuccess);
  CHECK(ms == doctest::Approx(emulator::simulated_copy_ms(1 << 20, emulator::current_gpu())));
  CHECK(hipEventDestroy(start) == hipSuccess);
  CHECK(hipEventDestroy(stop) == hipSuccess);
  CHECK(hipEventDestroy(stop) == hipErrorInvalidHandle);
  CHECK(hipEventElapsedTime(&ms, start, stop) == hipErrorInvalidHandle);
}

TEST_CASE("the simulated time is the longest of instructions, global memory and LDS") {
  device::DeviceModel gpu;
  gpu.info.compute_units = 10;
  gpu.info.warp_size = 64;
  gpu.schedulers = 4;
  gpu.fma_per_clock = 64;
  gpu.clock_mhz = 1000;
  gpu.memory_GB_s = 100;
  gpu.shared_bytes_per_clock = 128;
  Report report;
  CHECK(emulator::simulated_ms(report, gpu) == doctest::Approx(0.002));
  report.waves = report.workgroups = 1;
  report.instructions = report.of_kind[static_cast<std::size_t>(Kind::vector)] = 1'000'000;
  CHECK(emulator::simulated_ms(report, gpu) == doctest::Approx(4.002));  // 4 cycles each, on one SIMD
  report.waves = 80;
  CHECK(emulator::simulated_ms(report, gpu) == doctest::Approx(4.0 / 40 + 0.002));  // on all of them
  report.of_kind[static_cast<std::size_t>(Kind::vector)] = 0;
  report.of_kind[static_cast<std::size_t>(Kind::matrix)] = 1'000'000;
  CHECK(emulator::simulated_ms(report, gpu) == doctest::Approx(32.0 / 40 + 0.002));
  report.global_bytes_read = 1'000'000'000;
  CHECK(emulator::simulated_ms(report, gpu) == doctest::Approx(10.002));
  report.lds_bytes_written = 12'800'000'000;
  CHECK(emulator::simulated_ms(report, gpu) == doctest::Approx(100.002));  // one workgroup, one compute unit
}
