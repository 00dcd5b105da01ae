// The probe: the state of one backend on this machine.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "core/device/backend_facts.hpp"
#include "system/dynamic_library.hpp"
#include "worker/ipc/inventory.hpp"
#include "worker/worker.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

run::CompilerState probe_compiler(backend::Backend& backend, const std::string& name) {
  run::CompilerState state;
  state.name = name;
  try {
    const std::unique_ptr<build::Toolchain> toolchain = backend::open_toolchain(backend, name, "");
    state.toolchain = toolchain->fingerprint();
    state.default_arch = toolchain->default_arch();
    state.archs = toolchain->archs();
    state.parts = toolchain->parts();
  } catch (const system::NotInstalled& error) {
    state.reason = error.what();
  } catch (const Error& error) {
    state.reason = error.what();
    state.failed = true;
  }
  return state;
}

void probe_compilers(backend::Backend& backend, run::BackendState& state) {
  const std::vector<std::string> compilers = device::compilers_of(state.name);
  if (compilers.empty()) set_compiler(state, probe_compiler(backend, ""));
  for (const std::string& compiler : compilers) state.compilers.push_back(probe_compiler(backend, compiler));
  select_compiler(state, "", "");
}

}  // namespace

run::BackendState probe_backend(const std::string& name, Probe probe) {
  run::BackendState state;
  state.name = name;
  try {
    const std::unique_ptr<backend::Backend> backend = backend::make_backend(name);
    backend::DeviceList list = backend->list_devices();
    state.devices = std::move(list.devices);
    state.device_reason = std::move(list.reason);
    state.device_failed = list.failed;
    state.driver_absent = list.absent;
    if (probe == Probe::all) probe_compilers(*backend, state);
  } catch (const Error& error) {
    state.device_reason = state.toolchain_reason = error.what();
    // A backend that is not part of this build does not appear later; the cached state depends on the program.
    state.device_failed = state.toolchain_failed = error.kind() != ErrorKind::unsupported;
  }
  return state;
}

int probe_worker_main(const std::string& backend, Probe probe) {
  // On a separate line, after any output of a driver.
  const std::string line = "\n" + to_json(probe_backend(backend, probe)).dump() + "\n";
  return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace xtune::worker
