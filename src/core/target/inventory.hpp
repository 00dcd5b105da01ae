// The resources of this machine: each backend's devices and compiler, found by a probe process and cached.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/build/keyed_files.hpp"
#include "core/device/device_info.hpp"

namespace xtune::target {

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
};

/// Sets the members that describe the compiler.
void set_compiler(BackendState& state, const CompilerState& compiler);
/// Of several compilers, selects the one of this name; for "" and "auto" the first one that is here and knows the
/// architecture, or else the first one that is here. Without any, the reason for each is the state's.
void select_compiler(BackendState& state, const std::string& name, const std::string& arch);

/// What a probe searches for. Compilers take longer: each is identified by its version and by a hash of its files.
enum class Probe { all, devices };

nlohmann::json to_json(const BackendState& state);
BackendState backend_state_from_json(const nlohmann::json& json);

/// The state of one backend, from `xtune worker probe`. A driver that crashes or hangs gives a state with a reason. The
/// answer is cached as long as boot, drivers, the files of the compiler (and of Kokkos) and VISIBLE_DEVICES settings
/// stay the same, so that a run with only stored results starts no process. It is not cached if a call failed, if the
/// compiler is a script that may start anything, or with XTUNE_DISABLE_CACHE. fresh: probe again.
BackendState find_backend(const std::string& name, bool fresh);
/// Only the devices of a backend: name, devices and why there are none. Probes at each call.
BackendState find_devices(const std::string& name);
/// Removes the cached state, which has turned out to be wrong.
void forget_backend(const std::string& name) noexcept;

}  // namespace xtune::target
