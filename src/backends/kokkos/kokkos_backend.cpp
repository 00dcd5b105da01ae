// The kokkos backend's entry in the registry.
#include <fmt/core.h>

#include <algorithm>

#include "backends/backend.hpp"
#include "backends/kokkos/device.hpp"
#include "backends/kokkos/execution_space.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

class KokkosBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "kokkos"; }

  backend::DeviceList list_devices() override {
    try {
      const Installation kokkos = find_installation();
      const ExecutionSpace space = choose_space(kokkos);
      return usable(kokkos, space, backend::make_backend(space.backend)->list_devices());
    } catch (const Error& error) {
      return {{}, error.what()};
    }
  }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return make_toolchain(); }
  std::unique_ptr<measure::Device> open_device(int index) override {
    const ExecutionSpace space = choose_space(find_installation());
    return make_device(backend::make_backend(space.backend)->open_device(index), space);
  }
  std::shared_ptr<backend::Runtime> open_runtime() override {
    throw Error(ErrorKind::unsupported,
                "a Kokkos unit cannot be launched for you: compile it into your program, with the best "
                "configuration's values as definitions");
  }

 private:
  /// Code for one GPU architecture does not run on another.
  static backend::DeviceList usable(const Installation& kokkos, const ExecutionSpace& space,
                                    backend::DeviceList found) {
    backend::DeviceList list{{}, found.reason};
    const std::string arch = arch_of(kokkos, space);
    for (device::DeviceInfo& device : found.devices) {
      if (device::base_arch(device.arch) == device::base_arch(arch))
        list.devices.push_back(as_kokkos(std::move(device), space));
      else
        list.reason = fmt::format("Kokkos {} ({}) was built for {}, and {} is {}", kokkos.version, kokkos.config, arch,
                                  device.name, device.arch);
    }
    return list;
  }
};

}  // namespace

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<KokkosBackend>(); }

}  // namespace xtune::kokkos
