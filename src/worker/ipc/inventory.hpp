// The resources of this machine: each backend's devices and compiler, found by a probe process and cached.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/build/keyed_files.hpp"
#include "core/run/target.hpp"

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

}  // namespace xtune::worker
