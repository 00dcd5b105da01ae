// Converts records of the store to plain structures.
#include "api/results.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "api/workers.hpp"
#include "core/build/cache.hpp"
#include "core/resolve/resolve.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "core/store/objective.hpp"
#include "dispatch/arguments.hpp"
#include "system/files.hpp"
#include "worker/ipc/protocol.hpp"
#include "xtune/error.hpp"

namespace xtune {

std::string failures_text(const std::vector<Failed>& failures) {
  std::map<Outcome, std::size_t> counts;
  for (const Failed& failure : failures) ++counts[failure.outcome];
  std::string text;
  for (const auto& [outcome, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(outcome));
  const auto first =
      std::find_if(failures.begin(), failures.end(), [](const Failed& failure) { return !failure.message.empty(); });
  if (first != failures.end())
    text += fmt::format(". The first failure ({}): {}", to_string(first->outcome), first->message);
  return text;
}

namespace {

WinningArgument::Kind kind_of(const spec::ArgSpec& argument) {
  if (argument.kind == spec::ArgKind::scalar) return WinningArgument::Kind::scalar;
  if (argument.kind == spec::ArgKind::tensor_map) return WinningArgument::Kind::tensor_map;
  if (argument.kind == spec::ArgKind::constant) return WinningArgument::Kind::constant;
  if (argument.kind == spec::ArgKind::structure) return WinningArgument::Kind::structure;
  if (argument.role == spec::ArgRole::scratch)
    return argument.fill == Fill::zero ? WinningArgument::Kind::zeroed : WinningArgument::Kind::scratch;
  return argument.role == spec::ArgRole::in ? WinningArgument::Kind::buffer : WinningArgument::Kind::written;
}

WinningTensorMap winning_map(const std::string& of, const measure::TensorMap& map) {
  return {of,          map.tf32,         map.nan_outside, map.shape, map.strides, map.box, map.element_strides,
          map.swizzle, map.l2_promotion, map.interleave};
}

std::vector<WinningArgument> arguments_of(const spec::Spec& spec, const resolve::CandidateResolver& resolver,
                                          const space::Config& config) {
  const Bindings names = resolver.bindings(config);
  const std::vector<validate::ArgumentLayout> layouts = resolver.layouts();
  const std::vector<validate::ArgumentLayout> constants = resolver.constants();
  const std::vector<validate::ArgumentLayout> scratch = resolver.scratch(config);
  const std::vector<measure::TensorMap> maps = resolver.tensor_maps(config);
  const std::vector<measure::ScalarArgument> values = resolver.scalars(config);
  std::size_t next = 0, next_constant = 0, next_scratch = 0, next_map = 0, next_value = 0;
  std::vector<WinningArgument> arguments;
  for (const spec::ArgSpec& from : spec.args) {
    WinningArgument argument{from.name, kind_of(from), dtype_of(from, names), {}, "", {}, {}};
    if (from.kind == spec::ArgKind::constant)
      argument.shape = constants.at(next_constant++).shape;
    else if (from.role == spec::ArgRole::scratch)
      argument.shape = scratch.at(next_scratch++).shape;
    else if (from.map)
      argument.map = winning_map(from.map->of, maps.at(next_map++));
    else if (from.kind == spec::ArgKind::buffer)
      argument.shape = layouts.at(next++).shape;
    if (from.kind == spec::ArgKind::structure) {
      for (const std::byte byte : values.at(next_value).bytes)
        argument.bytes.push_back(std::to_integer<std::uint8_t>(byte));
      for (const spec::FieldSpec& field : from.fields)
        for (std::size_t i = 0; i < field.value.size(); ++i)
          argument.fields.push_back({field.at_byte + i * size_of(field.dtype), field.dtype, field.value[i].text});
    }
    next_value += has_value(from.kind) ? 1 : 0;
    if (from.kind == spec::ArgKind::scalar) argument.value = from.value->text;
    if (from.kind == spec::ArgKind::scalar && dispatch::is_filled(spec, from))
      argument.filled =
          spec::evaluate(*from.value, [&](std::string_view name) { return space::find_value(names, name); });
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

std::vector<std::uint32_t> extents(const std::array<std::uint32_t, 3>& from) { return {from.begin(), from.end()}; }

std::vector<WinningStep> steps_of(const device::LaunchPlan& plan, const build::Artifact& artifact,
                                  const std::vector<WinningArgument>& arguments) {
  std::vector<std::string> names;
  for (const WinningArgument& argument : arguments)
    if (argument.kind != WinningArgument::Kind::constant) names.push_back(argument.name);
  std::vector<WinningStep> steps;
  for (const device::Step& step : plan.steps) {
    const build::KernelEntry entry = build::entry_of(artifact, step.kernel);
    const device::Launch& launch = step.launch;
    steps.push_back({entry.symbol, extents(launch.grid), extents(launch.block), launch.shared_bytes,
                     extents(launch.cluster), entry.usage.static_shared_bytes.value_or(0),
                     step.chosen<std::string>(names), launch.cooperative});
  }
  return steps;
}

}  // namespace

Resources resources_of(const build::ResourceUsage& usage, std::optional<std::int64_t> shared_bytes) {
  return {usage.registers, usage.spilled_bytes, shared_bytes, usage.max_threads_per_block};
}

Measurement measurement_of(const spec::Spec& spec, const store::Record& record, const std::set<std::string>& attempts) {
  Measurement measurement;
  measurement.config = record.config;
  measurement.outcome = record.outcome;
  measurement.stage = record.stage;
  measurement.message = record.message;
  measurement.samples_ms = record.samples_ms;
  measurement.timing = timing_of(record.time_ms);
  const bool timed = record.outcome == Outcome::ok || record.outcome == Outcome::pruned;
  if (timed)
    measurement.time_ms =
        record.outcome == Outcome::ok ? measure::statistic(record.time_ms, spec.measure.statistic) : record.time_ms.min;
  if (record.outcome == Outcome::ok) measurement.metrics = store::metrics_of(spec, record);
  measurement.resources = resources_of(record.usage, store::shared_bytes(record));
  if (record.config != spec.validate.reference.config)
    measurement.reference_ms = store::reference_ms(record, spec.measure.statistic);
  measurement.tainted = record.tainted;
  measurement.from_store = !attempts.contains(record.attempt);
  measurement.compile_s = record.compile_s;
  measurement.key = record.key;
  measurement.artifact_key = record.artifact_key;
  return measurement;
}

Result result_of(const spec::Spec& spec, const run::TuneResult& tuned, const run::Target& target,
                 const std::set<std::string>& attempts) {
  Result result;
  result.kernel_name = spec.kernel.name;
  result.problem = tuned.problem;
  result.device = {tuned.device.backend, tuned.device.name, tuned.device.arch, tuned.device.index};
  result.toolchain = target.backend.toolchain;
  const store::Objective objective(spec);
  if (const auto best = store::best_of(tuned.all(), objective.criterion(tuned.problem, tuned.device))) {
    result.winner = measurement_of(spec, *best->record, attempts);
    for (const store::Record* tie : best->ties) result.ties.push_back(measurement_of(spec, *tie, attempts));
  }
  for (const store::Record& record : tuned.records) {
    result.measurements.push_back(measurement_of(spec, record, attempts));
    // The finals compile nothing.
    if (result.winner && result.winner->key == record.key)
      result.winner->compile_s = std::max(result.winner->compile_s, record.compile_s);
  }
  result.prediction = tuned.prediction;
  result.counts = tuned.counts;
  result.from_store = tuned.from_store;
  result.space_size = tuned.space_size;
  result.total_s = tuned.total_s;
  result.compile_cpu_s = tuned.compile_cpu_s;
  result.device_busy_s = tuned.device_busy_s;
  result.interrupted = tuned.interrupted;
  result.out_of_time = tuned.out_of_time;
  return result;
}

std::optional<build::Artifact> artifact_of(const std::string& key, const std::filesystem::path& store,
                                           const std::filesystem::path& scratch) {
  if (auto artifact = build::ArtifactCache(store).find(key)) return artifact;
  return build::ArtifactCache(worker::scratch_cache(scratch)).find(key);
}

namespace {

/// Compiles an artifact again that `store gc` has removed since it was measured, or before a run that the store
/// answered.
std::optional<build::Artifact> compiled_again(const spec::Spec& spec, const resolve::CandidateResolver& resolver,
                                              const space::Config& config, const run::Target& target) {
  try {
    return make_worker_toolchain(target.backend, spec.kernel.compile_timeout_s)
        ->compile(resolver.compile_request(config));
  } catch (const Error&) {  // the measurements are more important
  } catch (const build::CandidateFailure&) {
  }
  return std::nullopt;
}

/// What of a spec a result does not hold; load() has it from the spec. Empty: nothing.
std::string lacks_of_results(const spec::Spec& spec) {
  for (const spec::ArgSpec& argument : spec.args)
    if (argument.kind != spec::ArgKind::tensor_map && !spec::buffers_in(argument).empty())
      return "a result does not hold arguments with addresses of buffers, such as '" + argument.name + "'";
  for (const spec::StepSpec& step : spec.steps)
    if (step.repeat || !step.with.empty()) return "a result does not hold loops of launches ([[steps]] repeat, with)";
  return {};
}

}  // namespace

std::optional<WinningKernel> winning_kernel(const spec::Spec& spec, Result& result, const run::Target& target,
                                            const std::filesystem::path& store, const std::filesystem::path& scratch) {
  result.no_binary = lacks_of_results(spec);
  if (!result.winner || !result.no_binary.empty()) return std::nullopt;
  // The launch depends only on the winner's values, so a space with any one configuration will do.
  const space::Space space =
      space::Space::listed(spec.parameters, {std::vector<std::uint32_t>(spec.parameters.size(), std::uint32_t{0})});
  const resolve::CandidateResolver resolver(spec, space, result.problem, target.device, target.arch,
                                            target.backend.toolchain, false);
  space::Config config;
  for (const space::Parameter& parameter : spec.parameters) config.push_back(result.winner->config.at(parameter.name));
  auto artifact = artifact_of(result.winner->artifact_key, store, scratch);
  if (!artifact) artifact = compiled_again(spec, resolver, config, target);
  if (!artifact) {
    result.no_binary = "the store has lost it, and it could not be compiled again";
    return std::nullopt;
  }
  const device::LaunchPlan plan = resolver.launch(config);
  WinningKernel kernel;
  for (const std::filesystem::path& place : {store, worker::scratch_cache(scratch)}) {
    try {
      kernel.source = system::read_file(build::ArtifactCache(place).source_path(result.winner->artifact_key));
      break;
    } catch (const Error&) {  // the binary is more important
    }
  }
  kernel.format = artifact->format;
  kernel.arch = artifact->arch;
  kernel.arguments = arguments_of(spec, resolver, config);
  if (spec.steps.empty()) {
    const device::Launch& launch = plan.steps.front().launch;
    kernel.entry_symbol = artifact->entry_symbol;
    kernel.grid = extents(launch.grid);
    kernel.block = extents(launch.block);
    kernel.cluster = extents(launch.cluster);
    kernel.shared_bytes = launch.shared_bytes;
    kernel.cooperative = launch.cooperative;
  } else {
    kernel.steps = steps_of(plan, *artifact, kernel.arguments);
  }
  kernel.binary = std::move(artifact->image);
  if (spec.kernel.args) kernel.kernel_arguments = *spec.kernel.args;
  return kernel;
}

}  // namespace xtune
