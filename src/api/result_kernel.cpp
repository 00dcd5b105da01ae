// A result's winner as a callable: the result contains everything that dispatch needs.
#include <fmt/core.h>

#include <algorithm>

#include "backends/backend.hpp"
#include "core/resolve/resolve.hpp"
#include "core/space/expression.hpp"
#include "dispatch/constants.hpp"
#include "dispatch/kernel_state.hpp"
#include "xtune/kernel.hpp"
#include "xtune/result.hpp"

namespace xtune {
namespace {

std::array<std::uint32_t, 3> three(const std::vector<std::uint32_t>& extents) {
  std::array<std::uint32_t, 3> all{};
  if (extents.size() != all.size())
    throw Error(ErrorKind::invalid_argument, "Result::binary: grid, block and cluster need three extents each");
  std::copy(extents.begin(), extents.end(), all.begin());
  return all;
}

spec::ArgSpec spec_of(const WinningArgument& from) {
  spec::ArgSpec argument;
  argument.name = from.name;
  argument.dtype = from.dtype;
  switch (from.kind) {
    case WinningArgument::Kind::scalar:
      argument.kind = spec::ArgKind::scalar;
      argument.value = spec::Text{from.value, {}};
      try {
        space::Expression::parse(from.value);
      } catch (const space::ExpressionError& error) {
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("Result::binary: the scalar '{}' has the value \"{}\", which is not an expression: {}",
                                from.name, from.value, error.what()));
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
    step.launch = {three(from.grid), three(from.block), three(from.cluster), from.shared_bytes};
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
    build.launch = device::Launch{three(kernel.grid), three(kernel.block), three(kernel.cluster), kernel.shared_bytes};
    build.launch.steps.front().arguments = spec::passed_numbers(spec, spec.kernel.args);
  } else {
    add_steps(kernel, build);
  }
  for (const WinningArgument& argument : kernel.arguments) {
    if (argument.map) build.maps.push_back(map_of(argument));
    if (argument.kind != WinningArgument::Kind::scalar) continue;
    const auto encoded = resolve::encode_scalar(argument.dtype, argument.filled.value_or(Value(false)));
    if (!encoded)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("Result::binary: the scalar '{}' of {} cannot be {}", argument.name,
                              to_string(argument.dtype), to_text(*argument.filled)));
    build.scalars.push_back(*encoded);
  }
  return build;
}

}  // namespace

Kernel Result::kernel(bool checked) const {
  best();  // throws if there is none
  if (!binary || binary->binary.empty())
    throw Error(
        ErrorKind::unavailable,
        fmt::format("the result of '{}' has no binary of its winner: the store had lost it, or the directory it "
                    "was saved to had none; xtune::load compiles the kernel again",
                    kernel_name));
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
