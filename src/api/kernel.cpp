// From a spec, a Tunable or a result to a kernel that an application calls.
#include "xtune/kernel.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "api/checks.hpp"
#include "api/run_turn.hpp"
#include "api/tunable_state.hpp"
#include "api/tune_call.hpp"
#include "api/workers.hpp"
#include "backends/backend.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/resolve/resolve.hpp"
#include "core/run/check_spec.hpp"
#include "core/space/expression.hpp"
#include "core/spec/template_text.hpp"
#include "dispatch/builder.hpp"
#include "dispatch/kernel_state.hpp"
#include "dispatch/spec_files.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"
#include "xtune/result.hpp"
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

/// Sizes come from the calls; only those that decide on types are known before.
void require_use(const spec::Spec& spec, const Bindings& defines) {
  const auto decides = [](const std::string& name) {
    return [&name](const spec::ArgSpec& argument) {
      return argument.dtype_text && spec::CompiledText::template_text(*argument.dtype_text).names().contains(name);
    };
  };
  for (const auto& [name, value] : defines)
    if (spec.cases.front().contains(name) && std::none_of(spec.args.begin(), spec.args.end(), decides(name)))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: load: '{}' among the defines is a problem size, which calls have: by their "
                              "arguments, or by for_problem. Load it without",
                              spec.kernel.name, name));
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
  require_use(parts.spec, settings.defines);
  if (!settings.default_config.empty())
    require_values(parts.spec.parameters, settings.default_config, "default_config");
  parts.runtime = backend->open_runtime();
  device::require_compiler(name, settings.compiler);
  parts.open_toolchain = [name, compiler = settings.compiler,
                          timeout_s = parts.spec.kernel.compile_timeout_s](const std::string& arch) {
    find_worker_program();
    run::BackendState state = worker::find_backend(name, false);
    worker::select_compiler(state, compiler, arch);
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
  if (const auto from = spec_file_of(tunable); from && !bundled) {
    parts.spec_file = from->path;
    own.defines = from->defines;
  }
  parts.with_types = [kept, settings, bundled](const Bindings& types) {
    return load_with(with_defines(*kept, types), settings, bundled);
  };
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

void Kernel::set_constant(const std::string& constant, const Data& data) const {
  if (data.kind() != Data::Kind::host)
    throw Error(ErrorKind::invalid_argument,
                name() + ": the constant '" + base::printable(constant, 80) + "' takes host data: a vector or a span");
  state_->set_constant(constant, data.dtype(), data.host());
}

namespace {

std::array<std::uint32_t, 3> three(const std::vector<std::uint32_t>& extents) {
  std::array<std::uint32_t, 3> all{};
  if (extents.size() != all.size())
    throw Error(ErrorKind::invalid_argument, "Result::binary: grid, block and cluster need three extents each");
  std::copy(extents.begin(), extents.end(), all.begin());
  return all;
}

/// of: a WinningKernel or a WinningStep.
template <class Kernel>
device::Launch launch_of(const Kernel& of) {
  return {three(of.grid), three(of.block), three(of.cluster), of.shared_bytes, of.cooperative};
}

spec::Text expression_of(const WinningArgument& from, const std::string& text) try {
  space::Expression::parse(text);
  return {text, {}};
} catch (const space::ExpressionError& error) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("Result::binary: the argument '{}' has the value \"{}\", which is not an expression: {}",
                          from.name, text, error.what()));
}

spec::ArgSpec spec_of(const WinningArgument& from) {
  spec::ArgSpec argument;
  argument.name = from.name;
  argument.dtype = from.dtype;
  switch (from.kind) {
    case WinningArgument::Kind::scalar:
      argument.kind = spec::ArgKind::scalar;
      argument.value = expression_of(from, from.value);
      return argument;
    case WinningArgument::Kind::structure:
      argument.kind = spec::ArgKind::structure;
      argument.value_bytes = from.bytes.size();
      for (const WinningField& field : from.fields) {
        argument.fields.push_back({"", {}, field.dtype});
        argument.fields.back().value = {expression_of(from, field.value)};
        argument.fields.back().at_byte = field.at_byte;
      }
      return argument;
    case WinningArgument::Kind::tensor_map:
      argument.kind = spec::ArgKind::tensor_map;
      if (!from.map)
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("Result::binary: the tensor map '{}' has no description (map)", from.name));
      argument.map.emplace().of = from.map->of;
      return argument;
    case WinningArgument::Kind::constant:
      argument.kind = spec::ArgKind::constant;
      break;
    case WinningArgument::Kind::written:
      argument.role = spec::ArgRole::inout;
      break;
    case WinningArgument::Kind::zeroed:
      argument.fill = Fill::zero;
      [[fallthrough]];
    case WinningArgument::Kind::scratch:
      argument.role = spec::ArgRole::scratch;
      break;
    case WinningArgument::Kind::buffer:
      break;
  }
  for (const std::uint64_t extent : from.shape) argument.shape.push_back(spec::Text{std::to_string(extent), {}});
  return argument;
}

measure::TensorMap map_of(const WinningArgument& argument) {
  const WinningTensorMap& from = *argument.map;
  measure::TensorMap map{argument.dtype, from.tf32,    from.shape,        from.box,        from.element_strides,
                         from.strides,   from.swizzle, from.l2_promotion, from.interleave, from.nan_outside};
  if (const auto reason = measure::forbidden(map))
    throw Error(ErrorKind::invalid_argument,
                fmt::format("Result::binary: the tensor map '{}': {}", argument.name, reason->reason));
  return map;
}

/// The part of the spec that a call needs.
spec::Spec spec_of(const Result& result) {
  spec::Spec spec;
  spec.kernel.name = result.kernel_name;
  spec.kernel.source = "kernel.cu";
  spec.cases = {result.problem};
  for (const auto& [name, value] : result.best().config) spec.parameters.push_back({name, {value}});
  for (const WinningArgument& argument : result.binary->arguments) spec.args.push_back(spec_of(argument));
  for (const std::size_t number : result.binary->kernel_arguments)
    if (number >= spec.args.size())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("Result::binary: kernel_arguments has the number {}, and there are {} arguments", number,
                              spec.args.size()));
  if (!result.binary->kernel_arguments.empty()) spec.kernel.args = result.binary->kernel_arguments;
  return spec;
}

/// Positions among the arguments that kernels take. Throws Error(invalid_argument) for an unknown name.
std::vector<std::size_t> positions_of(const WinningStep& step, const std::vector<WinningArgument>& arguments) {
  std::vector<std::string> names;
  for (const WinningArgument& argument : arguments)
    if (argument.kind != WinningArgument::Kind::constant) names.push_back(argument.name);
  std::vector<std::size_t> positions;
  for (const std::string& name : step.arguments) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() || positions.size() == dispatch::max_arguments)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("Result::binary: the step '{}' takes '{}', which is not among the result's arguments, or "
                              "more than {} of them",
                              step.entry_symbol, name, dispatch::max_arguments));
    positions.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  return positions;
}

void add_steps(const WinningKernel& kernel, dispatch::Build& build) {
  std::vector<build::KernelEntry> entries;
  for (const WinningStep& from : kernel.steps) {
    device::Step step;
    step.launch = launch_of(from);
    step.kernel = entries.size();
    step.arguments = positions_of(from, kernel.arguments);
    step.name = fmt::format("step {} '{}'", entries.size() + 1, from.entry_symbol);
    build::KernelEntry entry{from.entry_symbol, {}};
    entry.usage.static_shared_bytes = from.static_shared_bytes;
    entries.push_back(std::move(entry));
    build.launch.steps.push_back(std::move(step));
  }
  build::set_entries(build.artifact, std::move(entries));
}

/// spec: of the same result.
dispatch::Build build_of(const Result& result, const spec::Spec& spec) {
  const WinningKernel& kernel = *result.binary;
  dispatch::Build build;
  build.artifact.backend = result.device.backend;
  build.artifact.arch = kernel.arch;
  build.artifact.format = kernel.format;
  build.artifact.image = kernel.binary;
  if (kernel.steps.empty()) {
    build.artifact.entry_symbol = kernel.entry_symbol;
    if (const auto shared = result.best().resources.shared_bytes)
      build.artifact.usage.static_shared_bytes = *shared - kernel.shared_bytes;
    build.launch = launch_of(kernel);
    build.launch.steps.front().arguments = spec::passed_numbers(spec, spec.kernel.args);
  } else {
    add_steps(kernel, build);
  }
  for (const WinningArgument& argument : kernel.arguments) {
    if (argument.kind == WinningArgument::Kind::scratch || argument.kind == WinningArgument::Kind::zeroed)
      build.scratch_bytes.push_back(std::accumulate(argument.shape.begin(), argument.shape.end(),
                                                    std::uint64_t{size_of(argument.dtype)}, std::multiplies<>()));
    if (argument.map) build.maps.push_back(map_of(argument));
    if (argument.kind == WinningArgument::Kind::structure) {
      measure::ScalarArgument& value = build.scalars.emplace_back();
      for (const std::uint8_t byte : argument.bytes) value.bytes.push_back(std::byte{byte});
    }
    if (argument.kind != WinningArgument::Kind::scalar) continue;
    const auto encoded = spec::encode_scalar(argument.dtype, argument.filled.value_or(Value(false)));
    if (!encoded)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("Result::binary: the scalar '{}' of {} cannot be {}", argument.name,
                              to_string(argument.dtype), to_text(*argument.filled)));
    build.scalars.push_back({*encoded});
  }
  return build;
}

}  // namespace

Kernel Result::kernel(bool checked) const {
  best();  // throws if there is none
  if (!binary || binary->binary.empty())
    throw Error(ErrorKind::unavailable,
                fmt::format("the result of '{}' has no binary of its winner: {}. Load the kernel from its spec",
                            kernel_name, no_binary.empty() ? "the directory it was saved to has none" : no_binary));
  dispatch::Parts parts;
  parts.spec = spec_of(*this);
  dispatch::require_no_constants(parts.spec);
  parts.runtime = backend::make_backend(device.backend)->open_runtime();
  Choice choice;
  choice.kind = Choice::Kind::exact;
  choice.config = best().config;
  choice.measured_for = problem;
  choice.time_ms = best().time_ms;
  choice.reasons = {"exact: the winner of the run that this kernel comes from"};
  parts.fixed = dispatch::Fixed{problem, std::move(choice), build_of(*this, parts.spec)};
  LoadSettings settings;
  settings.backend = device.backend;
  settings.checked = checked;
  return dispatch::make_kernel(std::move(parts), std::move(settings));
}

}  // namespace xtune
