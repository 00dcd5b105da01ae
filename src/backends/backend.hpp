// A backend: one way to compile and run kernels, and the list of built-in ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/runtime.hpp"
#include "core/build/artifact.hpp"
#include "core/measure/device.hpp"
#include "xtune/error.hpp"

namespace xtune::backend {

/// The devices that a backend finds. If there are none, the reason shows a user what to do.
struct DeviceList {
  std::vector<device::DeviceInfo> devices;
  std::string reason;  ///< "libcuda.so.1 not found: no NVIDIA driver on this node"
  /// There is a driver and a call to it failed, or its library could not be loaded: the next result may differ.
  bool failed = false;
  bool absent = false;  ///< no driver was found
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const noexcept = 0;  ///< "cuda"
  /// Never throws for an absent driver or device. May initialise the driver, so it is called only in a worker process.
  virtual DeviceList list_devices() = 0;
  /// Throws Error(unavailable) if the compiler is not on this machine.
  virtual std::unique_ptr<build::Toolchain> open_toolchain() = 0;
  /// The same for one of device::compilers_of(name()); of a backend with one compiler, that one.
  virtual std::unique_ptr<build::Toolchain> open_compiler(const std::string&) { return open_toolchain(); }
  /// Throws Error(unavailable).
  virtual std::unique_ptr<measure::Device> open_device(int index) = 0;
  /// For launches in this process's own contexts; always returns the same one. Throws Error(unavailable).
  virtual std::shared_ptr<Runtime> open_runtime() = 0;
  /// For fixing a device's clock; opens no device. Throws Error(unavailable), or unsupported if the backend cannot.
  virtual std::unique_ptr<measure::ClockLock> open_clocks(int /*index*/) {
    throw Error(ErrorKind::unsupported,
                std::string("--lock-clocks: only the clocks of GPUs can be fixed, and the backend is ") + name());
  }
};

/// The compiler of this name, or for an empty name the first one that is present and knows the architecture (the first
/// one that is present, if none does). Throws Error(unavailable) with the reason for each.
std::unique_ptr<build::Toolchain> open_toolchain(Backend& backend, const std::string& compiler,
                                                 const std::string& arch);

/// Throws Error(invalid_argument) for an unknown name, Error(unsupported) for a backend that is not part of this build.
std::unique_ptr<Backend> make_backend(std::string_view name);

}  // namespace xtune::backend
