// Filling the table of HIP's calls, and querying its devices.
#include "backends/hip/hip_calls.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/gpu/amd_sysfs.hpp"
#include "core/device/device_info.hpp"
#include "system/dynamic_library.hpp"

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "backends/cuda/driver.hpp"
#else
#include "backends/hip/rocm_libraries.hpp"
#endif

namespace xtune::hip {
namespace {

#if defined(__HIP_PLATFORM_NVIDIA__)

HipCalls load() {
  cuda::driver();  // throws with the reason if there is no driver; the wrappers below only report "unknown error"
  HipCalls calls;
#define XTUNE_FILL(name, arguments) calls.name = static_cast<hipError_t(*) arguments>(&::name);
  XTUNE_HIP_CALLS(XTUNE_FILL)
#undef XTUNE_FILL
  calls.hipGetErrorName = &::hipGetErrorName;
  calls.hipGetErrorString = &::hipGetErrorString;
  return calls;
}

#else

// Headers may rename calls whose structures changed, so the symbol is the expansion of the name.
#define XTUNE_TEXT_OF(name) #name
#define XTUNE_TEXT(name) XTUNE_TEXT_OF(name)

system::DynamicLibrary open_runtime() {
  if (const char* named = std::getenv("XTUNE_HIP_LIBRARY"); named && *named) try {
      return system::DynamicLibrary::open({named});
    } catch (const Error& error) {
      system::throw_with_message(error, fmt::format("XTUNE_HIP_LIBRARY={}: {}", named, error.what()));
    }
  try {
    return open_rocm_library({"amdhip64"});
  } catch (const Error& error) {
    system::throw_with_message(
        error, fmt::format("libamdhip64.so not found: no ROCm on this node (Debian: libamdhip64-5; {})", error.what()));
  }
}

HipCalls load() {
  HipCalls calls;
  calls.library = open_runtime();
  calls.library.keep_resident();
#define XTUNE_LOAD(name, arguments) calls.library.get(XTUNE_TEXT(name), calls.name);
  XTUNE_HIP_CALLS(XTUNE_LOAD)
#undef XTUNE_LOAD
#define XTUNE_FIND(name, arguments) \
  calls.name = reinterpret_cast<hipError_t(*) arguments>(calls.library.find(XTUNE_TEXT(name)));
  XTUNE_HIP_OPTIONAL_CALLS(XTUNE_FIND)
  XTUNE_FIND(xtune_name_memory, (const void*, std::size_t, const char*))
#undef XTUNE_FIND
  calls.library.get("hipGetErrorName", calls.hipGetErrorName);
  calls.library.get("hipGetErrorString", calls.hipGetErrorString);
  return calls;
}

#endif

}  // namespace

const HipCalls& hip_calls() {
  static const HipCalls table = load();
  return table;
}

std::string describe(const HipCalls& calls, hipError_t status) {
  const char* name = calls.hipGetErrorName(status);
  const char* words = calls.hipGetErrorString(status);
  if (!name) return fmt::format("HIP error {}", static_cast<int>(status));
  // HIP's string often is only the name.
  return !words || std::string(words) == name ? std::string(name) : fmt::format("{}: {}", name, words);
}

// HIP's devices.

namespace {

void check(const HipCalls& calls, int index, hipError_t status) {
  if (status != hipSuccess)
    throw Error(ErrorKind::unavailable,
                fmt::format("hip device {} does not answer: {}", index, describe(calls, status)));
}

int attribute(const HipCalls& calls, int index, hipDeviceAttribute_t which) {
  int value = 0;
  check(calls, index, calls.hipDeviceGetAttribute(&value, which, index));
  return value;
}

/// A fact that some drivers do not report; then 0.
int optional_attribute(const HipCalls& calls, int index, hipDeviceAttribute_t which) {
  int value = 0;
  return calls.hipDeviceGetAttribute(&value, which, index) == hipSuccess ? value : 0;
}

#if defined(__HIP_PLATFORM_NVIDIA__)

/// Facts that HIP's attributes do not include come from the underlying CUDA driver.
void add_platform_facts(const HipCalls&, int index, device::DeviceInfo& info) {
  const device::DeviceInfo cuda = cuda::query_device(cuda::driver(), index);
  info.vendor = "nvidia";
  info.arch = cuda.arch;
  info.uuid = cuda.uuid;
  info.driver = cuda.driver;
  info.shared_per_block_optin = cuda.shared_per_block_optin;
  info.shared_per_compute_unit = cuda.shared_per_compute_unit;
  info.registers_per_compute_unit = cuda.registers_per_compute_unit;
  info.clock_khz = cuda.clock_khz;  // CUDA 13's properties no longer contain them
  info.memory_clock_khz = cuda.memory_clock_khz;
}

#else

/// Empty: unknown.
std::string driver_version(const HipCalls& calls) {
  int version = 0;
  if (calls.hipDriverGetVersion(&version) != hipSuccess) return {};
  std::string text = fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
  std::ifstream file("/sys/module/amdgpu/version");  // AMD's own module has one, the kernel's does not
  if (std::string module_version; file >> module_version) text += " (amdgpu " + module_version + ")";
  return text;
}

void add_platform_facts(const HipCalls& calls, int index, device::DeviceInfo& info) {
  int status = 0;
  const std::string arch = device_arch([&](const char* symbol) { return calls.library.find(symbol); }, index, &status);
  check(calls, index, static_cast<hipError_t>(status));
  if (!arch.starts_with("gfx"))
    throw Error(ErrorKind::unavailable, fmt::format("hip device {} has no architecture that xtune can read ('{}'): "
                                                    "this release of ROCm is newer than xtune knows",
                                                    index, arch));
  info.vendor = "amd";
  info.arch = strip_target_features(arch);
  info.driver = device::is_emulated(info) ? "emulator, times are simulated" : driver_version(calls);
  info.shared_per_block_optin = info.shared_per_block;  // all of the LDS, without opting in
  info.shared_per_compute_unit = optional_attribute(calls, index, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor);
  if (info.shared_per_compute_unit < info.shared_per_block) info.shared_per_compute_unit = info.shared_per_block;
  // HIP's number of registers for one SIMD differs between releases; the ISA guides do not change.
  if (const auto known = device::known_device(info.arch)) {
    info.registers_per_block = known->registers_per_block;
    info.registers_per_compute_unit = known->registers_per_compute_unit;
  } else {
    info.registers_per_compute_unit = info.registers_per_block;
  }
}

#endif

}  // namespace

int initialise(const HipCalls& calls) {
  int count = 0;
  hipError_t status = calls.hipInit(0);
  if (status == hipSuccess) status = calls.hipGetDeviceCount(&count);
  if (status == hipSuccess && count > 0) return count;
  std::string advice = " (is the amdgpu driver loaded, and may this user read /dev/kfd?)";
#if defined(__HIP_PLATFORM_NVIDIA__)
  advice = " (does nvidia-smi list one?)";
#endif
  for (const char* variable : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const char* visible = std::getenv(variable)) advice = fmt::format(" ({} is \"{}\")", variable, visible);
  if (const char* library = std::getenv("XTUNE_HIP_LIBRARY"); library && *library)
    advice = fmt::format(" (XTUNE_HIP_LIBRARY is \"{}\")", library);
  const std::string reason = describe(calls, status);
  // The emulator, which `--arch` chooses too, says itself what is wrong.
  if (reason.find("the emulator does not execute ") != std::string::npos) advice.clear();
  throw Error(ErrorKind::unavailable, fmt::format("HIP finds no device: {}{}", reason, advice));
}

device::DeviceInfo query_device(const HipCalls& calls, int index) {
  device::DeviceInfo info;
  char name[256] = {};
  check(calls, index, calls.hipDeviceGetName(name, sizeof(name) - 1, index));
  std::size_t memory = 0;
  check(calls, index, calls.hipDeviceTotalMem(&memory, index));
  info.backend = "hip";
  info.index = index;
  info.name = name;
  // A part is a device by itself: what was measured on one says little about the whole, or about another.
  char pci_address[32] = "";
  if (calls.hipDeviceGetPCIBusId(pci_address, sizeof pci_address, index) == hipSuccess)
    if (const std::string partition = gpu::amd_partition(pci_address); !partition.empty())
      info.name += " (" + partition + ")";
  info.warp_size = attribute(calls, index, hipDeviceAttributeWarpSize);
  info.compute_units = attribute(calls, index, hipDeviceAttributeMultiprocessorCount);
  info.shared_per_block = attribute(calls, index, hipDeviceAttributeMaxSharedMemoryPerBlock);
  info.registers_per_block = attribute(calls, index, hipDeviceAttributeMaxRegistersPerBlock);
  info.max_threads_per_block = attribute(calls, index, hipDeviceAttributeMaxThreadsPerBlock);
  info.max_threads_per_compute_unit = attribute(calls, index, hipDeviceAttributeMaxThreadsPerMultiProcessor);
  info.max_grid_x = attribute(calls, index, hipDeviceAttributeMaxGridDimX);
  info.max_grid_y = attribute(calls, index, hipDeviceAttributeMaxGridDimY);
  info.max_grid_z = attribute(calls, index, hipDeviceAttributeMaxGridDimZ);
  info.max_block_x = attribute(calls, index, hipDeviceAttributeMaxBlockDimX);
  info.max_block_y = attribute(calls, index, hipDeviceAttributeMaxBlockDimY);
  info.max_block_z = attribute(calls, index, hipDeviceAttributeMaxBlockDimZ);
  info.l2_bytes = optional_attribute(calls, index, hipDeviceAttributeL2CacheSize);
  info.memory_bytes = static_cast<std::int64_t>(memory);
  info.clock_khz = optional_attribute(calls, index, hipDeviceAttributeClockRate);
  info.memory_clock_khz = optional_attribute(calls, index, hipDeviceAttributeMemoryClockRate);
  info.memory_bus_bits = optional_attribute(calls, index, hipDeviceAttributeMemoryBusWidth);
  add_platform_facts(calls, index, info);
  return info;
}

backend::DeviceList list_devices() {
  backend::DeviceList list;
  bool none = false;
  try {
    const HipCalls& calls = hip_calls();
    int count = 0;
    const hipError_t status = calls.hipGetDeviceCount(&count);
    none = status == hipErrorNoDevice || (status == hipSuccess && count == 0);
    count = initialise(calls);
    for (int index = 0; index < count; ++index) list.devices.push_back(query_device(calls, index));
  } catch (const std::exception& error) {
    list.reason = error.what();
    std::error_code ignored;
    list.absent = dynamic_cast<const system::NotInstalled*>(&error) != nullptr ||
                  (none && !std::filesystem::exists("/dev/kfd", ignored));
    list.failed = !list.absent && !none;
  }
  return list;
}

std::string strip_target_features(const std::string& arch) { return arch.substr(0, arch.find(':')); }

}  // namespace xtune::hip
