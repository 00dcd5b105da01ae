// From a spec, or a Tunable, to a kernel that an application calls.
#include <string>
#include <utility>

#include "api/problem.hpp"
#include "api/program_finder.hpp"
#include "api/run_turn.hpp"
#include "api/tunable_access.hpp"
#include "api/tune_call.hpp"
#include "api/worker_toolchain.hpp"
#include "backends/backend.hpp"
#include "base/absolute_path.hpp"
#include "core/device/backend_facts.hpp"
#include "core/run/check_spec.hpp"
#include "dispatch/bundled_spec.hpp"
#include "dispatch/kernel_state.hpp"
#include "xtune/kernel.hpp"
#include "xtune/tunable.hpp"
#include "xtune/tune.hpp"

namespace xtune {
namespace {

/// The first backend of a choice with a device; queries drivers, but creates no context.
std::string usable_backend(const std::string& choice) {
  std::string reasons;
  for (const std::string& name : device::backends_for(choice)) {
    const backend::DeviceList list = backend::make_backend(name)->list_devices();
    if (!list.devices.empty()) return name;
    reasons += "\n  " + name + ": " + list.reason;
  }
  throw Error(ErrorKind::unavailable, "no usable device" + reasons);
}

/// bundled: the files of a bundle, which the kernel and all its copies need.
Kernel load_with(const Tunable& tunable, const LoadSettings& settings, std::shared_ptr<const void> bundled) {
  dispatch::require_kernel(spec_of(tunable));
  const std::string name = device::is_choice(settings.backend) ? usable_backend(settings.backend) : settings.backend;
  const std::shared_ptr<backend::Backend> backend = backend::make_backend(name);
  // The copy keeps the files of sources that were given as text.
  const auto kept = std::make_shared<const Tunable>(tunable);
  dispatch::Parts parts;
  parts.spec = spec_of(*kept, name);
  run::check_spec(parts.spec);
  if (!settings.default_config.empty())
    require_values(parts.spec.parameters, settings.default_config, "default_config");
  parts.runtime = backend->open_runtime();
  device::require_compiler(name, settings.compiler);
  parts.open_toolchain = [name, compiler = settings.compiler,
                          timeout_s = parts.spec.kernel.compile_timeout_s](const std::string& arch) {
    find_worker_program();
    target::BackendState state = target::find_backend(name, false);
    target::select_compiler(state, compiler, arch);
    return make_worker_toolchain(std::move(state), timeout_s);
  };
  parts.narrow = [kept](spec::Spec& spec, const Bindings& problem, const Bindings& facts) {
    apply_predicates(*kept, spec, problem, facts);
  };
  parts.tune = [kept, tuning = settings.tuning, compiler = settings.compiler,
                store = dispatch::store_for(settings.store, settings.bundle, settings.frozen)](
                   const Bindings& problem, const device::DeviceInfo& device, const std::stop_token& stop) {
    TuneSettings own = tuning;
    own.backend = device.backend;
    own.compiler = compiler;
    own.devices = {device.index};
    own.problem = problem;
    own.store = store;
    own.stop = stop;
    const RunTurn turn(own.stop, own.poll);
    TuneCall call(*kept, own);
    return call.tune_for_calls(choose_problem(call.spec(), own.problem));
  };
  LoadSettings own = settings;
  own.backend = name;
  if (const auto file = spec_file_of(tunable); file && !bundled) {
    parts.spec_file = file->path;
    own.defines = file->defines;
  }
  parts.kept = std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
      kept, std::move(bundled));
  return dispatch::make_kernel(std::move(parts), std::move(own));
}

}  // namespace

Kernel load(const Tunable& tunable, const LoadSettings& settings) { return load_with(tunable, settings, nullptr); }

Kernel load(const std::filesystem::path& spec, const LoadSettings& settings) {
  return load_with(Tunable::from_file(spec, settings.defines), settings, nullptr);
}

Kernel load_bundle(const std::filesystem::path& bundle, const std::string& kernel, LoadSettings settings) {
  dispatch::OpenedSpec opened = dispatch::open_bundled_spec(bundle, kernel);
  settings.bundle = bundle;
  return load_with(Tunable::from_file(opened.spec, settings.defines), settings, std::move(opened.directory));
}

}  // namespace xtune
