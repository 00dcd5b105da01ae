// What this machine and this build of xtune offer: devices, compilers, search strategies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xtune {

/// A device of this machine.
struct AvailableDevice {
  std::string backend;            ///< cuda, hip or host
  int index = 0;                  ///< the number for TuneSettings::devices
  std::string name;               ///< "NVIDIA H200"
  std::string vendor;             ///< nvidia, amd or cpu
  std::string arch;               ///< "sm_90", "gfx90a", "x86_64_v3"
  std::string driver;             ///< "13.0 (580.65)"; empty on a CPU
  int compute_units = 0;          ///< SMs, CUs, or CPU threads
  std::int64_t memory_bytes = 0;  ///< 0: not known
  std::int64_t shared_bytes = 0;  ///< maximum shared memory of a block
};

/// A backend of this build, with its devices and its compiler on this machine.
struct AvailableBackend {
  std::string name;                      ///< cuda, hip or host
  std::vector<AvailableDevice> devices;  ///< empty: see device_reason
  std::string device_reason;             ///< why there are no devices
  std::string compiler;                  ///< name and version; empty: see compiler_reason
  std::string compiler_reason;           ///< why there is no compiler
};

/// The kernel backends of this build, in the order in which "auto" tries them. Each call asks the drivers in a separate
/// process, which takes up to a few seconds. If a driver crashes there, this is reported as the reason and not as an
/// error. Throws Error(unavailable) if the xtune program is missing.
std::vector<AvailableBackend> backends();

/// The devices of all these backends, of one, or of "gpu", without a search for compilers. Asks the drivers as
/// backends() does. Throws Error: invalid_argument for a backend that does not exist, unsupported for one that this
/// build does not have, unavailable if the xtune program is missing.
std::vector<AvailableDevice> devices(const std::string& backend = "auto");

/// The names of the search strategies for TuneSettings::strategy, the default first.
std::vector<std::string> strategies();

}  // namespace xtune
