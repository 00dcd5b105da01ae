// A backend: one way to compile and run kernels, with the list of those built in.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/runtime.hpp"
#include "core/build/artifact.hpp"
#include "core/measure/device.hpp"

namespace xtune::backend {

/// The devices a backend finds. Empty devices come with a reason a person can act on.
struct DeviceList {
  std::vector<device::DeviceInfo> devices;
  std::string reason;  ///< "libcuda.so.1 not found: no NVIDIA driver on this node"
  /// A driver is here and a call to it failed, or its library could not be loaded: the next answer may be another.
  bool failed = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const noexcept = 0;  ///< "cuda"
  /// Never throws for an absent driver or device. May initialise the driver, so it runs in a worker process only.
  virtual DeviceList list_devices() = 0;
  /// Throws Error(unavailable) when the compiler is not on this machine.
  virtual std::unique_ptr<build::Toolchain> open_toolchain() = 0;
  /// Throws Error(unavailable).
  virtual std::unique_ptr<measure::Device> open_device(int index) = 0;
  /// For launches in this process' own contexts; the same one each time. Throws Error(unavailable).
  virtual std::shared_ptr<Runtime> open_runtime() = 0;
};

/// Throws Error(invalid_argument) for a name that no backend has, Error(unsupported) for one left out of this build.
std::unique_ptr<Backend> make_backend(std::string_view name);

}  // namespace xtune::backend
