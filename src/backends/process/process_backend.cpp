// The process backend's entry in the registry.
#include "backends/backend.hpp"
#include "backends/host/cpu.hpp"
#include "backends/process/device.hpp"
#include "backends/process/toolchain.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

class ProcessBackend final : public Backend {
 public:
  const char* name() const noexcept override { return "process"; }
  DeviceList list_devices() override {
    DeviceInfo machine = host::cpu_info();
    machine.backend = name();
    return {{machine}, ""};
  }
  std::unique_ptr<Toolchain> open_toolchain() override { return process::make_toolchain(); }
  std::unique_ptr<Device> open_device(int index) override { return process::make_device(index); }
  std::shared_ptr<Runtime> open_runtime() override {
    throw Error(ErrorKind::unsupported,
                "a program is no kernel: start it with the best configuration's values yourself");
  }
};

}  // namespace

std::unique_ptr<Backend> make_process_backend() { return std::make_unique<ProcessBackend>(); }

}  // namespace xtune
