// What a run tunes for: a backend and its devices, or an architecture.
#pragma once

#include <string>
#include <vector>

#include "core/target/inventory.hpp"

namespace xtune::target {

/// What to tune for: a backend and its devices of one kind, or an architecture without one.
struct Target {
  BackendState backend;
  device::DeviceInfo device;                ///< the first: whose facts count, and where finals are held
  std::vector<device::DeviceInfo> further;  ///< of the same kind, to measure on as well
  bool present = true;                      ///< false: --arch of a device that is not here; compile only
  std::string arch;                         ///< what to compile for: --arch, or the device's own
  std::vector<std::string> notes;           ///< why auto passed others over: "cuda: libcuda.so.1 not found ..."
  std::vector<std::string> failed;          ///< of these, GPUs that may be here: their driver is, and asking it failed
  bool assumed_arch = false;                ///< no device and no --arch: arch is the compiler's default
  /// The device has memory of its own: outputs are compared there. Where the kernel for that does not compile, the
  /// tuner's observer is told, and the host compares.
  bool own_memory = false;
};

/// What a command cannot do without. All take the same backend where a device is there.
enum class TargetNeed {
  device,           ///< to measure
  device_or_named,  ///< to speak of measurements: the device that would be measured, or what --backend or --arch names
  compiler,         ///< to compile: the backend of a GPU that is here, else the first with a compiler
};

struct TargetOptions {
  std::string backend = "auto";  ///< auto: cuda, hip, host: the first that need allows
  std::vector<int> devices;      ///< indices, the first of them first; empty: the first one, and all that are like it
  std::string arch;              ///< empty: the device's, or without one the compiler's default
  TargetNeed need = TargetNeed::device;
  bool fresh = false;
};
/// The devices that `indices` names, as TargetOptions::devices has them: alike in all that a measurement key knows of
/// them. Throws Error(invalid_argument) for an index that there is not, one named twice, and devices that differ.
std::vector<device::DeviceInfo> choose_devices(const BackendState& backend, const std::vector<int>& indices);

/// Throws Error(unavailable) that says what each backend lacks, Error(invalid_argument) for a device that does not
/// exist and for an architecture that is not known or not of the backend's vendor.
Target choose_target(const TargetOptions& options);

}  // namespace xtune::target
