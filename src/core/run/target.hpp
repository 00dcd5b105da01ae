// The target of a run: a backend with its compilers and devices, as a probe found them, and the choice among them.
#pragma once

#include <string>
#include <vector>

#include "core/build/keyed_files.hpp"
#include "core/device/device_info.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::run {

/// One of the compilers of a backend.
struct CompilerState {
  std::string name;                ///< "hiprtc"; empty: the only one
  std::string toolchain;           ///< fingerprint; empty: it is not here
  std::string reason;              ///< why it is not here
  bool failed = false;             ///< a call failed, so the reason may be gone the next time
  std::string default_arch;        ///< the architecture to compile for without a device
  std::vector<std::string> archs;  ///< the architectures that it compiles for; empty: unknown
  build::ToolFiles parts;          ///< files and variables that the fingerprint covers
};

struct BackendState {
  std::string name;
  std::vector<device::DeviceInfo> devices;
  std::string device_reason;         ///< why there are no devices
  bool device_failed = false;        ///< a call failed, so device_reason may be gone the next time
  bool driver_absent = false;        ///< no devices, because their driver is not installed
  std::string toolchain;             ///< fingerprint; empty: no compiler
  std::string toolchain_reason;      ///< why there is no compiler
  bool toolchain_failed = false;     ///< a call failed, so toolchain_reason may be gone the next time
  std::string default_arch;          ///< of the toolchain
  build::ToolFiles toolchain_parts;  ///< files and variables that the fingerprint covers
  /// All of several compilers, the preferred one first; the members above describe the one that was selected.
  std::vector<CompilerState> compilers;
  std::vector<system::Search> searches;  ///< of their libraries, headers and device libraries
};

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

}  // namespace xtune::run
