// HIP's calls about the device.
#include <algorithm>
#include <cstring>
#include <optional>
#include <variant>

#include "emulator/hip/emulated_gpu.hpp"
#include "emulator/hip/runtime_state.hpp"

namespace xtune::emulator {
namespace {

constexpr int runtime_version = HIP_VERSION_MAJOR * 10'000'000 + HIP_VERSION_MINOR * 100'000;

struct Fact {
  hipDeviceAttribute_t attribute;
  std::variant<int device::DeviceInfo::*, std::int64_t device::DeviceInfo::*> member;
};
constexpr Fact facts[] = {
    {hipDeviceAttributeWarpSize, &device::DeviceInfo::warp_size},
    {hipDeviceAttributeMultiprocessorCount, &device::DeviceInfo::compute_units},
    {hipDeviceAttributeMaxSharedMemoryPerBlock, &device::DeviceInfo::shared_per_block},
    {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, &device::DeviceInfo::shared_per_compute_unit},
    {hipDeviceAttributeMaxRegistersPerBlock, &device::DeviceInfo::registers_per_block},
    {hipDeviceAttributeMaxThreadsPerBlock, &device::DeviceInfo::max_threads_per_block},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor, &device::DeviceInfo::max_threads_per_compute_unit},
    {hipDeviceAttributeMaxGridDimX, &device::DeviceInfo::max_grid_x},
    {hipDeviceAttributeMaxGridDimY, &device::DeviceInfo::max_grid_y},
    {hipDeviceAttributeMaxGridDimZ, &device::DeviceInfo::max_grid_z},
    {hipDeviceAttributeMaxBlockDimX, &device::DeviceInfo::max_block_x},
    {hipDeviceAttributeMaxBlockDimY, &device::DeviceInfo::max_block_y},
    {hipDeviceAttributeMaxBlockDimZ, &device::DeviceInfo::max_block_z},
    {hipDeviceAttributeL2CacheSize, &device::DeviceInfo::l2_bytes},
};

/// nullopt: not a fact that the emulator has.
std::optional<std::int64_t> attribute(hipDeviceAttribute_t which, const device::DeviceModel& gpu) {
  if (which == hipDeviceAttributeClockRate) return static_cast<std::int64_t>(gpu.clock_mhz * 1e3);
  if (which == hipDeviceAttributePageableMemoryAccess) return 0;
  for (const Fact& one : facts)
    if (one.attribute == which)
      return std::visit([&](auto member) -> std::int64_t { return gpu.info.*member; }, one.member);
  return std::nullopt;
}

/// What `use` does with the GPU of this index.
template <class Use>
hipError_t with_gpu(int index, const Use& use) {
  return answer([&](RuntimeState&) {
    const std::vector<device::DeviceModel>& gpus = emulated_gpus();
    if (index < 0 || static_cast<std::size_t>(index) >= gpus.size()) return hipErrorInvalidDevice;
    return use(gpus[static_cast<std::size_t>(index)]);
  });
}

}  // namespace
}  // namespace xtune::emulator

using namespace xtune::emulator;
using xtune::device::DeviceModel;

extern "C" {

hipError_t hipInit(unsigned /*flags*/) {
  return answer([](RuntimeState&) {
    static_cast<void>(emulated_gpus());
    return hipSuccess;
  });
}

hipError_t hipDriverGetVersion(int* version) {
  *version = runtime_version;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) {
  *version = runtime_version;
  return hipSuccess;
}

hipError_t hipGetDeviceCount(int* count) {
  return answer([&](RuntimeState&) {
    *count = static_cast<int>(emulated_gpus().size());
    return hipSuccess;
  });
}

hipError_t hipSetDevice(int index) {
  return answer([&](RuntimeState&) { return choose_gpu(index) ? hipSuccess : hipErrorInvalidDevice; });
}

hipError_t hipGetDevice(int* index) {
  *index = current_gpu_index();
  return hipSuccess;
}

hipError_t hipDeviceGetName(char* name, int bytes, hipDevice_t index) {
  return with_gpu(index, [&](const DeviceModel& gpu) {
    if (bytes < 1) return hipErrorInvalidValue;
    std::strncpy(name, gpu.info.name.c_str(), static_cast<std::size_t>(bytes));
    name[bytes - 1] = '\0';
    return hipSuccess;
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int index) {
  return with_gpu(index, [&](const DeviceModel& gpu) {
    const auto found = attribute(which, gpu);
    if (!found) return hipErrorInvalidValue;
    *value = static_cast<int>(std::min<std::int64_t>(*found, INT32_MAX));
    return hipSuccess;
  });
}

hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t index) {
  return with_gpu(index, [&](const DeviceModel& gpu) {
    *bytes = static_cast<std::size_t>(gpu.info.memory_bytes);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetPCIBusId(char* /*address*/, int /*bytes*/, int /*index*/) {
  return answer([](RuntimeState&) { return hipErrorNotSupported; });
}

/// In the layout of the headers that this is compiled with; they name the symbol that belongs to it.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int index) {
  return with_gpu(index, [&](const DeviceModel& gpu) {
    std::memset(properties, 0, sizeof *properties);
    std::strncpy(properties->name, gpu.info.name.c_str(), sizeof properties->name - 1);
    std::strncpy(properties->gcnArchName, gpu.info.arch.c_str(), sizeof properties->gcnArchName - 1);
    properties->totalGlobalMem = static_cast<std::size_t>(gpu.info.memory_bytes);
    properties->sharedMemPerBlock = static_cast<std::size_t>(gpu.info.shared_per_block);
    properties->regsPerBlock = static_cast<int>(gpu.info.registers_per_block);
    properties->warpSize = gpu.info.warp_size;
    properties->maxThreadsPerBlock = gpu.info.max_threads_per_block;
    properties->multiProcessorCount = gpu.info.compute_units;
    return hipSuccess;
  });
}

hipError_t hipDeviceSynchronize() {
  return answer([](RuntimeState&) { return hipSuccess; });
}

}  // extern "C"
