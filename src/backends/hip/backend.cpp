// The hip backend: hipRTC or clang, and HIP's module calls.
#include "backends/backend.hpp"

#include <fmt/core.h>

#include "backends/gpu/amd_sysfs.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/queue_timer.hpp"
#include "backends/hip/hip_calls.hpp"
#include "backends/hip/toolchain.hpp"
#include "xtune/error.hpp"
#if defined(__HIP_PLATFORM_NVIDIA__)
#include "backends/cuda/driver.hpp"
#endif

namespace xtune::hip {
namespace {

class HipBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "hip"; }
  backend::DeviceList list_devices() override { return hip::list_devices(); }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return backend::open_toolchain(*this, "", ""); }
  std::unique_ptr<build::Toolchain> open_compiler(const std::string& compiler) override {
    return compiler == "clang" ? hip::make_clang_toolchain() : hip::make_hiprtc_toolchain();
  }
  std::unique_ptr<measure::Device> open_device(int index) override {
    const hip::HipCalls& calls = hip::hip_calls();
    const int count = hip::initialise(calls);
    if (index < 0 || index >= count)
      throw Error(ErrorKind::unavailable, fmt::format("hip device {} is not there: the driver shows {}", index, count));
    device::DeviceInfo info = hip::query_device(calls, index);
    gpu::DriverApi api = hip::open_driver_api(calls, index);
    if (device::is_emulated(info))
      api.no_timing = device::simulated_times;
    else
      api.timing_code = [info] { return timing_code(info); };
    return gpu::make_device(std::move(api), std::move(info));
  }
  std::unique_ptr<measure::ClockLock> open_clocks(int index) override {
#if defined(__HIP_PLATFORM_NVIDIA__)
    return cuda::open_clocks(index);
#else
    const hip::HipCalls& calls = hip::hip_calls();
    hip::initialise(calls);
    char pci_address[32] = "";
    if (calls.hipDeviceGetPCIBusId(pci_address, sizeof pci_address, index) != hipSuccess) pci_address[0] = '\0';
    return gpu::amd_clocks(pci_address);
#endif
  }
  std::shared_ptr<backend::Runtime> open_runtime() override {
    static const std::shared_ptr<backend::Runtime> runtime = hip::make_runtime(timing_code);
    return runtime;
  }

 private:
  static build::Artifact timing_code(const device::DeviceInfo& device) {
    if (device::is_emulated(device)) throw Error(ErrorKind::unsupported, device::simulated_times);
    HipBackend self;
    return backend::open_toolchain(self, "", device.arch)->compile(gpu::timing_request(device.arch));
  }
};

}  // namespace

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<HipBackend>(); }

}  // namespace xtune::hip
