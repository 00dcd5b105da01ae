// Loads the CUDA driver, and queries its devices.
#include "backends/cuda/driver.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "system/dynamic_library.hpp"

namespace xtune::cuda {
namespace {

system::DynamicLibrary open_library() {
  try {
    return system::DynamicLibrary::open({"libcuda.so.1"});
  } catch (const Error& error) {
    system::throw_with_message(
        error,
        fmt::format("libcuda.so.1 not found: no NVIDIA driver on this node (Debian: nvidia-driver; {})", error.what()));
  }
}

template <class Function>
void find_any(const system::DynamicLibrary& library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!function) function = reinterpret_cast<Function>(library.find(name));
  }
}

Driver load_driver() {
  Driver driver;
  driver.library = open_library();
  driver.library.keep_resident();
#define XTUNE_LOAD(name, parameters) driver.library.get(#name, driver.name);
  XTUNE_CUDA_DRIVER_CALLS(XTUNE_LOAD)
#undef XTUNE_LOAD
#define XTUNE_FIND(name, parameters, ...) find_any(driver.library, driver.name, {__VA_ARGS__});
  XTUNE_CUDA_OPTIONAL_CALLS(XTUNE_FIND)
#undef XTUNE_FIND
  if (!driver.event_elapsed_time)
    throw Error(ErrorKind::unavailable,
                "libcuda.so.1 has no cuEventElapsedTime: the NVIDIA driver is damaged or too old");
  return driver;
}

/// In the format of nvidia-smi and NVML. name: a part of a device has its profile there: "... MIG 3g.40gb".
std::string uuid_text(const CUuuid& uuid, const std::string& name) {
  std::string text = name.find(" MIG ") != name.npos ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

/// "13.0 (580.65.06)": the CUDA version that the driver supports, and the driver's version if the kernel module reports
/// it.
std::string driver_version(const Driver& driver) {
  int version = 0;
  if (driver.cuDriverGetVersion(&version) != CUDA_SUCCESS) return {};
  std::string text = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  std::ifstream file("/sys/module/nvidia/version");
  std::string module_version;
  if (file >> module_version) text += " (" + module_version + ")";
  return text;
}

}  // namespace

const Driver& driver() {
  static const Driver table = load_driver();
  return table;
}

std::string describe(const Driver& driver, CUresult status) {
  const char* name = nullptr;
  const char* words = nullptr;
  if (driver.cuGetErrorName(status, &name) != CUDA_SUCCESS || !name)
    return fmt::format("CUDA error {}", static_cast<int>(status));
  if (driver.cuGetErrorString(status, &words) != CUDA_SUCCESS || !words) return name;
  return fmt::format("{}: {}", name, words);
}

void initialise(const Driver& driver) {
  const CUresult status = driver.cuInit(0);
  if (status == CUDA_SUCCESS) return;
  std::string advice;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (status == CUDA_ERROR_NO_DEVICE && visible)
    advice = fmt::format(" (CUDA_VISIBLE_DEVICES is \"{}\")", visible);
  else if (status == CUDA_ERROR_NO_DEVICE)
    advice = " (does nvidia-smi list one? a container needs --gpus or the like)";
  else if (status == CUDA_ERROR_STUB_LIBRARY)
    advice = " (the toolkit's stub library was found before the driver's: take .../stubs out of LD_LIBRARY_PATH)";
  throw Error(ErrorKind::unavailable,
              fmt::format("the NVIDIA driver does not start: {}{}", describe(driver, status), advice));
}

std::string mps_share() {
  const char* const share = std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  const char* const pipes = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const double percent = share ? std::strtod(share, nullptr) : 0;
  std::error_code failed;
  if (!(percent > 0 && percent < 100) ||
      !std::filesystem::exists(std::filesystem::path(pipes ? pipes : "/tmp/nvidia-mps") / "control", failed))
    return {};
  return fmt::format(" (MPS {:g} %)", percent);
}

device::DeviceInfo query_device(const Driver& driver, int index) {
  CUdevice device = 0;
  device::DeviceInfo info;
  const auto check = [&](CUresult status) {
    if (status != CUDA_SUCCESS)
      throw Error(ErrorKind::unavailable,
                  fmt::format("cuda device {} does not answer: {}", index, describe(driver, status)));
  };
  check(driver.cuDeviceGet(&device, index));
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check(driver.cuDeviceGetAttribute(&value, which, device));
    return value;
  };
  /// Facts that some devices do not report: unknown, not a failure.
  const auto optional_attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
  };

  char name[256] = {};
  check(driver.cuDeviceGetName(name, sizeof(name) - 1, device));
  std::size_t memory = 0;
  check(driver.cuDeviceTotalMem_v2(&memory, device));
  CUuuid uuid{};
  if (driver.device_get_uuid && driver.device_get_uuid(&uuid, device) == CUDA_SUCCESS)
    info.uuid = uuid_text(uuid, name);

  info.backend = "cuda";
  info.index = index;
  info.name = name + mps_share();  // the name of a MIG or vGPU device has its profile
  info.vendor = "nvidia";
  info.arch = fmt::format("sm_{}{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                          attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  info.driver = driver_version(driver);
  info.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  info.compute_units = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  info.shared_per_block_optin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.shared_per_compute_unit = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  info.registers_per_compute_unit = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  info.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.max_threads_per_compute_unit = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info.max_grid_x = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  info.max_grid_y = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  info.max_grid_z = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  info.max_block_x = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  info.max_block_y = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  info.max_block_z = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.memory_bytes = static_cast<std::int64_t>(memory);
  info.clock_khz = optional_attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.memory_clock_khz = optional_attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memory_bus_bits = optional_attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  return info;
}

backend::DeviceList list_devices() {
  backend::DeviceList list;
  try {
    const Driver& table = driver();
    if (table.cuInit(0) == CUDA_ERROR_NO_DEVICE) {
      list.reason = "the NVIDIA driver shows no device (CUDA_ERROR_NO_DEVICE)";
      return list;
    }
    initialise(table);
    int count = 0;
    if (const CUresult status = table.cuDeviceGetCount(&count); status != CUDA_SUCCESS)
      throw Error(ErrorKind::unavailable, "counting CUDA devices: " + describe(table, status));
    for (int index = 0; index < count; ++index) list.devices.push_back(query_device(table, index));
    if (count == 0) list.reason = "the NVIDIA driver shows no device";
  } catch (const std::exception& error) {
    list.reason = error.what();
    list.absent = dynamic_cast<const system::NotInstalled*>(&error) != nullptr;
    list.failed = !list.absent;
  }
  return list;
}

}  // namespace xtune::cuda
