// The host backend's entry in the registry.
#include "backends/host/backend.hpp"

#include "backends/backend.hpp"
#include "backends/cpu/cpu.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

class HostBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "host"; }
  backend::DeviceList list_devices() override { return {{cpu::cpu_info()}, ""}; }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return host::make_toolchain(); }
  std::unique_ptr<measure::Device> open_device(int index) override {
    if (index != 0)
      throw Error(ErrorKind::unavailable,
                  "the host backend has one device, number 0; asked for " + std::to_string(index));
    return host::make_device();
  }
  std::shared_ptr<backend::Runtime> open_runtime() override { return host::runtime(); }
};

}  // namespace

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<HostBackend>(); }

}  // namespace xtune::host
