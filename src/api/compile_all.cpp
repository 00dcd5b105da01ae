// Compiling without measuring, for sweeps that the application makes itself.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "api/checks.hpp"
#include "api/results.hpp"
#include "api/run_turn.hpp"
#include "api/tunable_state.hpp"
#include "api/workers.hpp"
#include "backends/backend.hpp"
#include "core/build/cache.hpp"
#include "core/resolve/resolve.hpp"
#include "core/run/compile_sweep.hpp"
#include "core/run/job.hpp"
#include "core/space/value.hpp"
#include "core/spec/spec.hpp"
#include "dispatch/builder.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/services.hpp"
#include "xtune/error.hpp"
#include "xtune/kernel.hpp"
#include "xtune/tune.hpp"

namespace xtune::detail {

struct CompiledBuild {
  std::shared_ptr<const spec::Spec> spec;  ///< with the problem as its only case
  std::string backend;
  std::filesystem::path store;  ///< has the artifact
  dispatch::Build build;        ///< contains only the key of the artifact
};

}  // namespace xtune::detail

namespace xtune {

namespace {

/// The target of the compilation.
struct Setting {
  run::Target target;
  spec::Spec spec;
  Bindings problem;
  space::Space space;
};

run::Target target_of(const CompileSettings& settings) {
  check_jobs(settings.jobs);
  find_worker_program();
  worker::TargetOptions options;
  options.backend = settings.backend.empty() ? "auto" : settings.backend;
  options.compiler = settings.compiler;
  options.arch = settings.arch;
  options.need = worker::TargetNeed::compiler;
  return worker::choose_target(options);
}

Setting prepare(const Tunable& tunable, const CompileSettings& settings) {
  run::Target target = target_of(settings);
  spec::Spec spec = spec_of(tunable, target.backend.name);
  Bindings problem = choose_problem(spec, settings.problem);
  const Bindings facts = device::device_facts(target.device);
  const auto poll = [&] {
    if (settings.poll) settings.poll();
    if (settings.stop.stop_requested()) throw Error(ErrorKind::interrupted, "stopped while the space was made");
  };
  apply_predicates(tunable, spec, problem, facts, poll);
  space::Space space = spec::make_space(spec, problem, facts, poll);
  return {std::move(target), std::move(spec), std::move(problem), std::move(space)};
}

void take(run::SweptConfig&& swept, CompiledConfig& answer) {
  answer.key = std::move(swept.key);
  answer.outcome = swept.outcome;
  answer.message = std::move(swept.message);
  answer.log = std::move(swept.log);
  answer.resources = resources_of(swept.usage, run::shared_bytes(swept));
  answer.seconds = swept.seconds;
}

std::vector<CompiledConfig> compile(const Setting& setting, const CompileSettings& settings, std::size_t jobs,
                                    const std::vector<Bindings>& configs) {
  std::vector<std::optional<std::uint64_t>> indices;
  std::vector<std::uint64_t> valid;
  for (const Bindings& config : configs) {
    indices.push_back(setting.space.index_of(config));
    if (indices.back()) valid.push_back(*indices.back());
  }
  const resolve::CandidateResolver resolver(setting.spec, setting.space, setting.problem, setting.target.device,
                                            setting.target.arch, setting.target.backend.toolchain, false,
                                            system::chosen_store(settings.store));
  StoppableLoop stoppable(settings.stop, settings.poll);
  worker::JobWorkers workers(stoppable.loop(), jobs);
  run::CompileSweep sweep(setting.spec, setting.space, resolver, setting.target.backend.name,
                          system::chosen_store(settings.store), stoppable.loop(), workers.compiler());
  std::vector<run::SweptConfig> swept = sweep.compile(
      valid, [&] { return stoppable.stop().load(); }, true);

  auto spec = std::make_shared<spec::Spec>(setting.spec);
  spec->cases = {setting.problem};
  const std::filesystem::path store = system::absolute_path(system::chosen_store(settings.store));
  std::vector<CompiledConfig> done;
  auto next = swept.begin();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    CompiledConfig answer;
    if (!indices[i]) {
      answer.outcome = Outcome::rejected;
      answer.message = "it is not valid in the space of the spec";
    } else {
      run::SweptConfig& own = *next++;
      if (!own.done) continue;
      if (own.outcome == Outcome::ok) {
        auto build = std::make_shared<detail::CompiledBuild>();
        build->spec = spec;
        build->backend = setting.target.backend.name;
        build->store = store;
        build->build = dispatch::build_without_artifact(resolver, setting.space.at(*indices[i]));
        build->build.artifact.key = own.key;
        Access::build(answer) = std::move(build);
      }
      take(std::move(own), answer);
    }
    answer.config = configs[i];
    done.push_back(std::move(answer));
  }
  return done;
}

}  // namespace

std::vector<CompiledConfig> compile_all(const Tunable& tunable, const std::vector<Bindings>& configs,
                                        const CompileSettings& settings) try {
  check_jobs(settings.jobs);
  const RunTurn turn(settings.stop, settings.poll);
  const Setting setting = prepare(tunable, settings);
  // Only for its errors; configurations that are merely not valid get their own rows.
  choose_configs(setting.space, configs, [](const std::string&) {});
  return compile(setting, settings, settings.jobs > 0 ? settings.jobs : worker::job_count(), configs);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::interrupted || !settings.stop.stop_requested()) throw;
  return {};
}

std::vector<Bindings> all_configs(const Tunable& tunable, const CompileSettings& settings, std::uint64_t most) {
  const Setting setting = prepare(tunable, settings);
  const space::Space& space = setting.space;
  if (space.size() > most)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("the space has {} valid configurations, more than the {} asked for at most", space.size(), most));
  std::vector<Bindings> configs(space.size());
  for (std::uint64_t i = 0; i < space.size(); ++i) configs[i] = space.named(space.at(i));
  return configs;
}

Kernel CompiledConfig::kernel(bool checked) const {
  if (outcome != Outcome::ok)
    throw Error(ErrorKind::nothing_valid,
                fmt::format("{} has no binary ({}): {}", space::shown_text(config), to_string(outcome), message));
  if (!build_)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} was not compiled by compile_all: only what that returns is callable",
                            space::shown_text(config)));
  dispatch::Build build = build_->build;
  std::optional<build::Artifact> artifact = build::ArtifactCache(build_->store).find(build.artifact.key);
  if (!artifact)
    throw Error(ErrorKind::unavailable,
                fmt::format("{}: the store {} has no binary {} any more: compile it again", space::shown_text(config),
                            build_->store.string(), build.artifact.key));
  build.artifact = std::move(*artifact);
  dispatch::Parts parts;
  parts.spec = *build_->spec;
  parts.runtime = backend::make_backend(build_->backend)->open_runtime();
  Choice choice;
  choice.config = config;
  choice.reasons = {"the configuration that was compiled; it was not measured"};
  parts.fixed = dispatch::Fixed{build_->spec->cases.front(), std::move(choice), std::move(build)};
  LoadSettings settings;
  settings.backend = build_->backend;
  settings.checked = checked;
  return dispatch::make_kernel(std::move(parts), std::move(settings));
}

}  // namespace xtune
