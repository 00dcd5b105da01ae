// Loading libcuda.
#include "backends/cuda/driver.hpp"

#include <fmt/core.h>

#include "base/not_installed.hpp"

namespace xtune::cuda {
namespace {

base::DynamicLibrary open_library() {
  try {
    return base::DynamicLibrary::open({"libcuda.so.1"});
  } catch (const Error& error) {
    base::throw_with_message(error,
                             fmt::format("libcuda.so.1 not found: no NVIDIA driver on this node ({})", error.what()));
  }
}

template <class Function>
void find_any(const base::DynamicLibrary& library, Function& function, std::initializer_list<const char*> names) {
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
  // The second version also accepts events of other contexts.
  find_any(driver.library, driver.event_elapsed_time, {"cuEventElapsedTime_v2", "cuEventElapsedTime"});
  // The second version returns the id of a part of a partitioned GPU (MIG).
  find_any(driver.library, driver.device_get_uuid, {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"});
  find_any(driver.library, driver.context_id, {"cuCtxGetId"});                             // CUDA 12.0
  find_any(driver.library, driver.get_parameter_info, {"cuFuncGetParamInfo"});             // CUDA 12.4
  find_any(driver.library, driver.launch_kernel_ex, {"cuLaunchKernelEx"});                 // CUDA 11.8
  find_any(driver.library, driver.max_active_clusters, {"cuOccupancyMaxActiveClusters"});  // CUDA 11.8
  find_any(driver.library, driver.encode_tensor_map, {"cuTensorMapEncodeTiled"});          // CUDA 12.0
  find_any(driver.library, driver.stream_begin_capture, {"cuStreamBeginCapture_v2"});      // CUDA 10.1
  find_any(driver.library, driver.stream_end_capture, {"cuStreamEndCapture"});             // CUDA 10.0
  find_any(driver.library, driver.graph_instantiate, {"cuGraphInstantiateWithFlags"});     // CUDA 11.4
  find_any(driver.library, driver.graph_upload, {"cuGraphUpload"});                        // CUDA 11.1
  find_any(driver.library, driver.graph_launch, {"cuGraphLaunch"});                        // CUDA 10.0
  find_any(driver.library, driver.graph_exec_destroy, {"cuGraphExecDestroy"});             // CUDA 10.0
  find_any(driver.library, driver.graph_destroy, {"cuGraphDestroy"});                      // CUDA 10.0
  if (!driver.event_elapsed_time)
    throw Error(ErrorKind::unavailable,
                "libcuda.so.1 has no cuEventElapsedTime: the NVIDIA driver is damaged or too old");
  return driver;
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

}  // namespace xtune::cuda
