// What this machine offers: each backend's devices and compiler, found by a probe process and remembered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"

namespace xtune {

struct BackendState {
  std::string name;
  std::vector<DeviceInfo> devices;
  std::string device_reason;      ///< why there is no device
  bool device_failed = false;     ///< what device_reason says may be gone the next time: a call failed
  std::string toolchain;          ///< fingerprint; empty: no compiler
  std::string toolchain_reason;   ///< why there is no compiler
  bool toolchain_failed = false;  ///< likewise
  std::string default_arch;       ///< the toolchain's
};

/// Asks a backend in this process: initialises its driver, so only the probe worker calls it. Never throws for absent
/// things.
BackendState probe_backend(const std::string& name);
nlohmann::json to_json(const BackendState& state);
BackendState backend_state_from_json(const nlohmann::json& json);

/// The state of one backend, by `xtune worker probe`. A driver that crashes or hangs is a state with a reason. The
/// answer is kept in the cache folder for as long as boot, drivers, compilers and VISIBLE_DEVICES settings stay the
/// same, so that a fully stored run starts no process; not where a call failed, nor with XTUNE_DISABLE_CACHE. fresh =
/// ask again.
BackendState find_backend(const std::string& name, bool fresh);
/// What is remembered of it is not what is here.
void forget_backend(const std::string& name) noexcept;

/// What to tune for: a backend and its devices of one kind, or an architecture without one.
struct Target {
  BackendState backend;
  DeviceInfo device;                ///< the first: whose facts count, and where finals are held
  std::vector<DeviceInfo> further;  ///< of the same kind, to measure on as well
  bool present = true;              ///< false: --arch of a device that is not here; compile only
  std::string arch;                 ///< what to compile for: --arch, or the device's own
  std::vector<std::string> notes;   ///< why auto passed others over: "cuda: libcuda.so.1 not found ..."
  std::vector<std::string> failed;  ///< of these, GPUs that may be here: their driver is, and asking it failed
  bool assumed_arch = false;        ///< no device and no --arch: arch is the compiler's default
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
std::vector<DeviceInfo> choose_devices(const BackendState& backend, const std::vector<int>& indices);

/// Throws Error(unavailable) that says what each backend lacks, Error(invalid_argument) for a device that does not
/// exist and for an architecture that is not known or not of the backend's vendor.
Target choose_target(const TargetOptions& options);

}  // namespace xtune
