// A backend that is not part of xtune: the host's compiler and processor under another name.
#include "backends/backend.hpp"

namespace xtune::host {
std::unique_ptr<backend::Backend> make_backend();
}  // namespace xtune::host

namespace xtune::toy {

class ToyBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "toy"; }
  backend::DeviceList list_devices() override {
    backend::DeviceList list = host_->list_devices();
    for (device::DeviceInfo& device : list.devices) {
      device.backend = name();
      device.name = "a toy";
    }
    return list;
  }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return host_->open_toolchain(); }
  std::unique_ptr<measure::Device> open_device(int index) override { return host_->open_device(index); }
  std::shared_ptr<backend::Runtime> open_runtime() override { return host_->open_runtime(); }

 private:
  std::unique_ptr<backend::Backend> host_ = host::make_backend();
};

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<ToyBackend>(); }

}  // namespace xtune::toy
