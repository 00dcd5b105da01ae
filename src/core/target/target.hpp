// The target of a run: a backend and its devices, or an architecture.
#pragma once

#include <string>
#include <vector>

#include "core/target/inventory.hpp"

namespace xtune::target {

/// A backend and its devices of one kind, or an architecture without a device.
struct Target {
  BackendState backend;
  device::DeviceInfo device;                ///< the first one: its facts are used, and finals are measured on it
  std::vector<device::DeviceInfo> further;  ///< of the same kind, for additional measurements
  bool present = true;                      ///< false: --arch of a device that is not present; compile only
  std::string arch;                         ///< the architecture to compile for: --arch, or the device's own
  /// Why auto took the CPU: "no GPU (libcuda.so.1 not found)". Empty: it did not, or no backend of GPUs was tried.
  std::string no_gpu;
  bool assumed_arch = false;  ///< no device and no --arch: arch is the compiler's default
  /// The device has its own memory, and outputs are compared there. If the kernel for that does not compile, the
  /// tuner's observer is informed, and the host compares.
  bool own_memory = false;
};

/// The requirement of a command. All values select the same backend if there is a device.
enum class TargetNeed {
  device,           ///< for measuring
  device_or_named,  ///< to read measurements: of the device, or as --arch or the name of a backend says
  compiler,         ///< for compiling: the backend of a GPU that is present, else the first with a compiler
};

struct TargetOptions {
  /// auto: the first of cuda, hip, host that satisfies `need`; gpu: the same without host.
  std::string backend = "auto";
  std::vector<int> devices;  ///< indices, the first device first; empty: the first one, and all devices like it
  std::string arch;          ///< empty: the device's, or without a device the compiler's default
  std::string compiler{};    ///< one of device::compilers_of(backend); empty or "auto": the first that knows the arch
  TargetNeed need = TargetNeed::device;
  bool fresh = false;
};
/// The devices that `indices` names, as in TargetOptions::devices: they must agree in all facts that are part of a
/// measurement key. Throws Error(invalid_argument) for an index that does not exist, a repeated one, and devices that
/// differ.
std::vector<device::DeviceInfo> choose_devices(const BackendState& backend, const std::vector<int>& indices);

/// Throws Error(unavailable) with the reason for each backend, Error(invalid_argument) for a device that does not exist
/// and for an architecture that is not known or does not belong to the backend's vendor.
Target choose_target(const TargetOptions& options);

}  // namespace xtune::target
