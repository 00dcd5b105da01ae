// What this machine offers: each backend's devices and compiler, found by a probe process and remembered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/build/tool_files.hpp"
#include "core/device/device_info.hpp"

namespace xtune::target {

struct BackendState {
  std::string name;
  std::vector<device::DeviceInfo> devices;
  std::string device_reason;         ///< why there is no device
  bool device_failed = false;        ///< what device_reason says may be gone the next time: a call failed
  std::string toolchain;             ///< fingerprint; empty: no compiler
  std::string toolchain_reason;      ///< why there is no compiler
  bool toolchain_failed = false;     ///< likewise
  std::string default_arch;          ///< the toolchain's
  build::ToolFiles toolchain_parts;  ///< what the fingerprint covers
};

nlohmann::json to_json(const BackendState& state);
BackendState backend_state_from_json(const nlohmann::json& json);

/// The state of one backend, by `xtune worker probe`. A driver that crashes or hangs is a state with a reason. The
/// answer is kept in the cache folder for as long as boot, drivers, the files of the compiler (and of Kokkos) and
/// VISIBLE_DEVICES settings stay the same, so that a fully stored run starts no process; not where a call failed, where
/// the compiler is a script that may start anything, nor with XTUNE_DISABLE_CACHE. fresh = ask again.
BackendState find_backend(const std::string& name, bool fresh);
/// What is remembered of it is not what is here.
void forget_backend(const std::string& name) noexcept;

}  // namespace xtune::target
