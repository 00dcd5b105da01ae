// A tuning run that proves the default configuration wrong is remembered, so that calls refuse it.
#include "dispatch/preparation.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "core/run/first_answer.hpp"
#include "core/space/value.hpp"
#include "system/chosen_store.hpp"
#include "xtune/outcome.hpp"

namespace xtune::dispatch {
namespace {

std::string kind_of(const device::DeviceInfo& device) { return device.arch + "\n" + device.name; }

/// The driver's sizes of a kernel's parameters, if it knows them, against those of its arguments.
void check_parameters(const std::string& kernel, const device::Step& step, const backend::LoadedKernel& loaded,
                      const std::vector<std::size_t>& given) {
  const auto& takes = loaded.parameter_bytes;
  if (!takes || *takes == given) return;
  const bool named = !step.name.empty();
  throw Error(ErrorKind::invalid_spec,
              fmt::format("{} takes parameters of [{}] bytes, but {} args are [{}] bytes",
                          named ? kernel + ": " + step.name : fmt::format("kernel '{}'", kernel),
                          fmt::join(*takes, ", "), named ? "its" : "the spec's", fmt::join(given, ", ")));
}

}  // namespace

Preparation::Preparation(const Parts& parts, const LoadSettings& settings, const ArgumentPlan& plan, Say say)
    : parts_(parts),
      settings_(settings),
      plan_(plan),
      say_(std::move(say)),
      bundle_(open_bundle(settings.bundle, parts.spec.kernel.name)),
      selector_(parts.spec, store_for(settings.store, settings.bundle, settings.frozen), bundle_,
                settings.other_architectures, settings.compile && !settings.frozen && settings.default_config.empty(),
                say_),
      builder_(
          selector_.store(), bundle_,
          [this](const build::Artifact& artifact) { return parts_.runtime->understands(artifact); },
          settings.compile ? parts.open_toolchain : nullptr, say_),
      constants_(parts.spec),
      coverage_(parts.fixed ? nullptr
                            : Coverage::open(settings.coverage,
                                             {parts.spec.kernel.name, parts.spec_file, settings.defines}, say_)) {}

std::string Preparation::title(const Bindings& problem) const {
  return parts_.spec.kernel.name + ", " + space::shown_text(problem);
}

Coverage::Counter* Preparation::log(const ChosenCase& found, const Choice& choice, const std::string& refusal) {
  return coverage_ ? coverage_->add(found.problem, found.device, choice, refusal) : nullptr;
}

ChosenCase Preparation::choose(const Bindings& problem) {
  ChosenCase found{problem, parts_.runtime->device(), {}, parts_.spec, {}, {}, {}};
  {
    const std::lock_guard lock(failures_mutex_);
    if (const auto known = failures_.find({kind_of(found.device), problem}); known != failures_.end())
      found.failure = known->second;
  }
  found.archs = compiled_archs(found.device, settings_.arch);
  if (parts_.narrow) parts_.narrow(found.spec, problem, device::device_facts(found.device));
  found.selection = selector_.select(found.spec, problem, found.device, found.archs);
  Choice& choice = found.selection.choice;
  if (found.selection.record) {
    if (!found.has_failed(choice.config)) return found;
    found.selection.record.reset();
    Choice none;
    none.reasons = std::move(choice.reasons);
    choice = std::move(none);
    choice.reasons.emplace_back("that configuration failed when this problem was tuned");
  }
  if (choice.config.empty()) {
    run::Question asked{found.spec, problem, found.device};
    run::FirstAnswer first{settings_.default_config, "the one given"};
    if (first.config.empty())
      first = run::first_answer(asked);
    else
      first.config =
          asked.space().named(default_configs(found.spec, asked.space(), problem, found.device, first.config).front());
    choice.config = first.config;
    choice.reasons.push_back("the default configuration: " + first.origin);
  }
  if (found.has_failed(choice.config))
    found.refusal = found.failure->message;
  else if (const std::string objection =
               selector_.objection_to(choice.config, found.spec, problem, found.device, found.archs);
           !objection.empty())
    found.refusal = fmt::format(
        "{}: nothing that was measured may answer, and the default configuration {}, so it is not run. Tune the "
        "problem (xtune run, or a policy that tunes), or name another one in LoadSettings::default_config",
        title(problem), objection);
  return found;
}

Choice Preparation::choice(const Bindings& problem) {
  if (parts_.fixed) {
    require_fixed(problem);
    return parts_.fixed->choice;
  }
  const system::RememberNothing writes_nothing(settings_.frozen);
  ChosenCase found = choose(problem);
  if (!found.refusal.empty()) throw ProvenWrong(ErrorKind::nothing_valid, found.refusal);
  Choice choice = std::move(found.selection.choice);
  choice.expected = selector_.expected(choice, found.spec, problem, found.device);
  choice.scratch = scratch_of(found.spec, problem, found.device, choice.config);
  return choice;
}

std::string Preparation::digest(const std::vector<Bindings>& problems) {
  if (!bundle_)
    throw Error(ErrorKind::invalid_argument,
                parts_.spec.kernel.name + ": a kernel that was loaded without a bundle has no digest");
  std::vector<store::ProblemChoice> choices;
  for (const Bindings& problem : problems) choices.emplace_back(problem, choice(problem).config);
  return store::choices_digest(bundle_->digest(), parts_.spec.kernel.name, choices);
}

bool Preparation::wants_tuning(const ChosenCase& found) const {
  const Choice::Kind kind = found.selection.choice.kind;
  return parts_.tune && settings_.policy != Policy::lookup && !found.failure &&
         (kind == Choice::Kind::nearest || kind == Choice::Kind::none);
}

void Preparation::tune(const Bindings& problem) {
  try {
    const device::DeviceInfo device = parts_.runtime->device();
    take(problem, device, parts_.tune(problem, device, stop_.get_token()));
  } catch (const std::exception& error) {
    if (!stops()) say_(fmt::format("{}: not tuned: {}", title(problem), error.what()));
  } catch (...) {  // from a callback of the application
    say_(title(problem) + ": not tuned: a callback threw something that is not a std::exception");
  }
  selector_.refresh();
}

void Preparation::take(const Bindings& problem, const device::DeviceInfo& device, Tuned tuned) {
  if (!tuned.winner) {
    if (tuned.failed.empty() || stops()) return;
    auto failure =
        std::make_shared<const Failure>(Failure{std::move(tuned.failed), title(problem) + ": " + tuned.failures});
    const std::lock_guard lock(failures_mutex_);
    failures_.insert_or_assign({kind_of(device), problem}, std::move(failure));
    return;
  }
  if (tuned.not_kept.empty()) return;
  if (tuned.artifact) builder_.remember(std::move(*tuned.artifact));
  selector_.remember(std::move(*tuned.winner));
  if (!told_not_kept_.exchange(true))
    say_(fmt::format("{}: tuned results serve only this process, because the store {} does not keep them: {}",
                     parts_.spec.kernel.name, selector_.store().string(), tuned.not_kept));
}

Prepared Preparation::load(const Key& key, const Bindings& problem, const device::DeviceInfo& device,
                           const Build& build) {
  const std::vector<backend::LoadedKernel> kernels = constants_.load(build, *parts_.runtime);
  Prepared prepared;
  prepared.key = key;
  const std::vector<std::size_t> sizes = plan_.sizes(build.scalars);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const device::Step& step = build.launch.steps[i];
    check_parameters(parts_.spec.kernel.name, step, kernels[i], step.chosen<std::size_t>(sizes));
    prepared.steps.push_back({kernels[i].handle, step.launch, step.arguments, step.name});
  }
  prepared.replacing.assign(build.scalars.begin() + static_cast<std::ptrdiff_t>(plan_.value_count()),
                            build.scalars.end());
  prepared.as_passed =
      build.launch.steps.size() == 1 && prepared.replacing.empty() && plan_.takes_as_passed(build.launch.steps.front());
  std::vector<measure::TensorMap> maps;
  for (const std::size_t map : plan_.map_numbers()) maps.push_back(build.maps.at(map));
  if (!maps.empty()) prepared.maps = std::make_shared<EncodedMaps>(std::move(maps));
  prepared.scratch.resize(plan_.omissible().scratch.size());
  // What is zeroed lies together, so that one call of the driver does it.
  for (const bool zeroed : {true, false}) {
    constexpr std::size_t alignment = 256;
    for (std::size_t i = 0; i < prepared.scratch.size(); ++i) {
      const ScratchArgument& scratch = plan_.omissible().scratch[i];
      if (scratch.zeroed != zeroed) continue;
      prepared.scratch[i] = prepared.scratch_bytes;
      prepared.scratch_bytes += (build.scratch_bytes.at(scratch.number) + alignment - 1) / alignment * alignment;
    }
    if (zeroed) prepared.zeroed_bytes = prepared.scratch_bytes;
  }
  if (settings_.scratch_limit != 0 && prepared.scratch_bytes > settings_.scratch_limit)
    throw build::CandidateFailure(
        Outcome::rejected,
        fmt::format("its scratch takes {}, more than LoadSettings::scratch_limit ({})",
                    base::human_bytes(prepared.scratch_bytes), base::human_bytes(settings_.scratch_limit)));
  for (const std::size_t scalar : plan_.filled_scalars()) prepared.filled.push_back(build.scalars.at(scalar));
  if (settings_.checked) prepared.bytes = plan_.buffer_bytes(problem, device, build.scratch_bytes);
  return prepared;
}

/// The measured configuration; else the first default one that runs, unless it is known to be wrong for the problem.
Prepared Preparation::make(const Key& key, const ChosenCase& found) try {
  const Choice& choice = found.selection.choice;
  const std::optional<store::Record>& record = found.selection.record;
  Coverage::Counter* const calls = log(found, choice, found.refusal);
  if (!found.refusal.empty()) throw ProvenWrong(ErrorKind::nothing_valid, found.refusal);
  const std::string chosen = space::shown_text(choice.config), title = this->title(found.problem);
  if (found.failure) say_(fmt::format("{}. It runs {}, which was not tried", found.failure->message, chosen));
  const space::Space space = spec::make_space(found.spec, found.problem, device::device_facts(found.device));
  const std::vector<std::string> toolchains = selector_.toolchains(found.device);
  std::vector<std::string> failures;
  bool nothing_stored = true;
  const auto attempt = [&](const space::Config& config) -> std::optional<Prepared> {
    try {
      // With the record: an artifact that does not match it must not be used through a default configuration either.
      Prepared prepared = load(key, found.problem, found.device,
                               builder_.build(found.spec, space, found.problem, found.device, config,
                                              record ? &*record : nullptr, toolchains, found.archs));
      prepared.calls = calls;
      return prepared;
    } catch (const build::CandidateFailure& failure) {
      nothing_stored = false;
      failures.emplace_back(failure.what());
    } catch (const NotStored& error) {
      failures.emplace_back(error.what());
    }
    return std::nullopt;
  };
  const auto measured = record ? config_in(space, choice.config) : std::nullopt;
  if (measured)
    if (auto prepared = attempt(*measured)) return std::move(*prepared);
  if (record && settings_.frozen)
    throw Error(
        ErrorKind::unavailable,
        fmt::format("{}: the bundle's configuration {} does not run here, and a frozen kernel runs no other: {}", title,
                    chosen, failures.empty() ? "it is not in the spec's space" : failures.front()));
  for (const auto& config : default_configs(found.spec, space, found.problem, found.device, settings_.default_config)) {
    const Bindings bindings = space.named(config);
    if (found.has_failed(bindings)) continue;
    std::string against = selector_.objection_to(bindings, found.spec, found.problem, found.device, found.archs);
    auto prepared = against.empty() ? attempt(config) : std::nullopt;
    if (!against.empty()) failures.push_back(std::move(against));
    if (!prepared) continue;
    if (record) {
      Choice ran = choice;
      ran.kind = Choice::Kind::none;
      ran.config = bindings;
      log(found, ran, {});
    }
    if (measured)
      say_(fmt::format("{}: the chosen configuration does not run here, a default one does: {}", title,
                       failures.front()));
    return std::move(*prepared);
  }
  const std::string why = failures.empty() ? "" : ": " + failures.front();
  if (nothing_stored) throw Error(ErrorKind::unavailable, title + ": nothing to run" + why);
  throw Error(ErrorKind::nothing_valid, fmt::format("{}: none of {} configurations runs on {}{}", title,
                                                    failures.size(), found.device.name, why));
} catch (const Error& error) {
  if (found.refusal.empty()) log(found, found.selection.choice, error.what());
  throw;
}

void Preparation::require_fixed(const Bindings& problem) const {
  if (problem != parts_.fixed->problem)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{}: this kernel is the winner for {} and launches only for that, not for {}; xtune::load "
                    "makes one for any problem",
                    parts_.spec.kernel.name, space::shown_text(parts_.fixed->problem), space::shown_text(problem)));
}

Prepared Preparation::make_fixed(const Key& key, const Bindings& problem) {
  require_fixed(problem);
  const device::DeviceInfo device = parts_.runtime->device();
  try {
    return load(key, problem, device, parts_.fixed->build);
  } catch (const build::CandidateFailure& failure) {
    throw Error(
        ErrorKind::unavailable,
        fmt::format("{}: the binary was compiled for {}, and this device is {} ({}): {}", parts_.spec.kernel.name,
                    parts_.fixed->build.artifact.arch, device.name, device.arch, failure.what()));
  }
}

}  // namespace xtune::dispatch
