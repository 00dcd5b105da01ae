// The cuda backend: NVRTC, nvcc or clang, and the CUDA driver.
#include "backends/backend.hpp"

#include <fmt/core.h>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/toolchain.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/queue_timer.hpp"
#include "xtune/error.hpp"

namespace xtune::cuda {
namespace {

std::unique_ptr<build::Toolchain> open_nvrtc() {
  const cuda::Nvrtc& nvrtc = cuda::nvrtc();
  cuda::Dialect dialect;
  dialect.api = cuda::compiler_api(nvrtc);
  dialect.name = "nvrtc";
  dialect.defines = {"XTUNE_CUDA=1"};
  dialect.include_dirs = cuda::toolkit_include_dirs(nvrtc);
  return cuda::make_toolchain(nvrtc, std::move(dialect));
}

build::Artifact timing_code(const device::DeviceInfo& device) {
  return backend::open_toolchain(*backend::make_backend("cuda"), "", device.arch)
      ->compile(gpu::timing_request(device.arch));
}

class CudaBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "cuda"; }

  backend::DeviceList list_devices() override { return cuda::list_devices(); }

  std::unique_ptr<build::Toolchain> open_toolchain() override { return backend::open_toolchain(*this, "", ""); }
  std::unique_ptr<build::Toolchain> open_compiler(const std::string& compiler) override {
    if (compiler == "nvcc") return cuda::make_nvcc_toolchain();
    return compiler == "clang" ? cuda::make_clang_toolchain() : open_nvrtc();
  }

  std::unique_ptr<measure::Device> open_device(int index) override {
    const cuda::Driver& driver = cuda::driver();
    cuda::initialise(driver);
    int count = 0;
    driver.cuDeviceGetCount(&count);
    if (index < 0 || index >= count)
      throw Error(ErrorKind::unavailable,
                  fmt::format("cuda device {} is not there: the driver shows {}", index, count));
    device::DeviceInfo info = cuda::query_device(driver, index);
    gpu::DriverApi api = cuda::open_driver_api(driver, index);
    api.timing_code = [info] { return timing_code(info); };
    return gpu::make_device(std::move(api), std::move(info));
  }

  std::unique_ptr<measure::ClockLock> open_clocks(int index) override { return cuda::open_clocks(index); }

  std::shared_ptr<backend::Runtime> open_runtime() override {
    static const std::shared_ptr<backend::Runtime> runtime =
        cuda::make_runtime([](int index) { return cuda::query_device(cuda::driver(), index); }, timing_code);
    return runtime;
  }
};

}  // namespace

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<CudaBackend>(); }

}  // namespace xtune::cuda
