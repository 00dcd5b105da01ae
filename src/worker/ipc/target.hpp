// The resources of this machine, found by a probe process and cached, and the target of a run among them: a backend and
// its devices, or an architecture; the program that runs as its workers, and the emulator in the place of an AMD GPU
// that is not present.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/run/target.hpp"
#include "core/spec/spec.hpp"

namespace xtune::worker {

/// Sets the members that describe the compiler.
void set_compiler(run::BackendState& state, const run::CompilerState& compiler);
/// Of several compilers, selects the one of this name; for "" and "auto" the first one that is here and knows the
/// architecture, or else the first one that is here. Without any, the reason for each is the state's.
void select_compiler(run::BackendState& state, const std::string& name, const std::string& arch);

/// What a probe searches for. Compilers take longer: each is identified by its version and by a hash of its files.
enum class Probe { all, devices };

nlohmann::json to_json(const run::BackendState& state);
run::BackendState backend_state_from_json(const nlohmann::json& json);

/// The state of one backend, from `xtune worker probe`. A driver that crashes or hangs gives a state with a reason. The
/// answer is cached as long as boot, drivers, the files of the compiler (and of Kokkos) and VISIBLE_DEVICES settings
/// stay the same, so that a run with only stored results starts no process. It is not cached if a call failed, if the
/// compiler is a script that may start anything, or with XTUNE_DISABLE_CACHE. fresh: probe again.
run::BackendState find_backend(const std::string& name, bool fresh);
/// Only the devices of a backend: name, devices and why there are none. Probes at each call.
run::BackendState find_devices(const std::string& name);
/// Removes the cached state, which has turned out to be wrong.
void forget_backend(const std::string& name) noexcept;

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
std::vector<device::DeviceInfo> choose_devices(const run::BackendState& backend, const std::vector<int>& indices);

/// Throws Error(unavailable) with the reason for each backend, Error(invalid_argument) for a device that does not exist
/// and for an architecture that is not known or does not belong to the backend's vendor.
run::Target choose_target(const TargetOptions& options);

/// For a kernel as choose_target(options). For a program: backend "process" on the devices that [process] device names,
/// with their facts; its toolchain contains the program that its build starts and the variables that compilers read.
/// Throws Error(unavailable) for a device or a program that is missing (need: device or compiler),
/// Error(invalid_argument) for another backend.
run::Target choose_target(const spec::Spec& spec, const TargetOptions& options);

/// The dependencies of a build besides its command and its sources: "g++ sha256:0123456789abcdef, CPATH=/opt/include".
/// Throws Error(unavailable) at the command's place for a program that is missing.
std::string build_fingerprint(const spec::Spec& spec);

/// Throws Error(unavailable), at its place, for a missing program that [process] exec_prefix, run or check names;
/// programs that depend on the configuration are checked later.
void require_programs(const spec::Spec& spec);

/// A warning for a spec whose build is a build tool (make, ninja, ...) and whose [process] sources is empty: the files
/// that the tool reads are unknown. Empty for others.
std::string warning_of_unknown_sources(const spec::Spec& spec);

/// The program's file; that of the running program unless another one was set. Thread-safe.
std::filesystem::path worker_program();
void set_worker_program(const std::filesystem::path& program);

/// Whether the hip backend needs the emulator for this architecture ("gfx942"): it is AMD's, and no device here has it.
bool needs_emulator(const std::string& arch);

/// The emulator's library. Throws Error(unavailable) with the place where it was searched, if it is not installed.
std::filesystem::path installed_emulator();

/// From now on, the hip backend of this process and of the processes that it starts has an emulated GPU of this
/// architecture. Sets XTUNE_EMULATED_ARCH, and XTUNE_HIP_LIBRARY unless the user did. Throws Error(unavailable), with
/// the place where it was searched, if the emulator is not installed. Not thread-safe.
void use_emulator(const std::string& arch);

}  // namespace xtune::worker
