// The process backend's entry in the registry.
#include "backends/backend.hpp"
#include "backends/host/cpu.hpp"
#include "backends/process/device.hpp"
#include "backends/process/toolchain.hpp"
#include "xtune/error.hpp"

namespace xtune::process {
namespace {

class ProcessBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "process"; }
  backend::DeviceList list_devices() override {
    device::DeviceInfo machine = host::cpu_info();
    machine.backend = name();
    return {{machine}, ""};
  }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return process::make_toolchain(); }
  std::unique_ptr<measure::Device> open_device(int index) override { return process::make_device(index); }
  std::shared_ptr<backend::Runtime> open_runtime() override {
    throw Error(ErrorKind::unsupported,
                "a program is not a kernel: start it with the best configuration's values yourself");
  }
};

}  // namespace

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<ProcessBackend>(); }

}  // namespace xtune::process
