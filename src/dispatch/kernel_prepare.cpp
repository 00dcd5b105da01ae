// The first call on a problem: choose, build and load. Tuning is in kernel_tuning.cpp.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <optional>

#include "base/machine_memory.hpp"
#include "core/space/bindings_text.hpp"
#include "core/spec/template_text.hpp"
#include "dispatch/kernel_case.hpp"
#include "xtune/outcome.hpp"

namespace xtune::detail {

using dispatch::Key;
using dispatch::Prepared;

namespace {
constexpr std::size_t max_problems = std::size_t{1} << 16;

/// Marks the calling thread.
class Preparer {
 public:
  explicit Preparer(std::atomic<std::thread::id>& mark) : mark_(mark) { mark_ = std::this_thread::get_id(); }
  ~Preparer() { mark_ = std::thread::id(); }
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

 private:
  std::atomic<std::thread::id>& mark_;
};

/// For people.
std::string origin_of_default(const LoadSettings& settings, const spec::Spec& spec, const Bindings& config) {
  if (!settings.default_config.empty()) return "the one given";
  if (spec.dispatch.default_config == config) return "the spec's [dispatch] default";
  return spec.candidates ? "what [candidates] rate best" : "the first of the space";
}

}  // namespace

KernelState::Case KernelState::case_of(const Bindings& problem) {
  Case found{problem, runtime_.device(), {}, parts_.spec, {}, {}, {}};
  found.failure = failures_.of(problem, found.device);
  found.archs = dispatch::compiled_archs(found.device, settings_.arch);
  if (parts_.narrow) parts_.narrow(found.spec, problem, device::device_facts(found.device));
  found.selection = selector_.select(found.spec, problem, found.device, found.archs);
  if (found.selection.record && !found.has_failed(found.selection.choice.config)) return found;
  if (found.selection.record) {
    found.selection.record.reset();
    Choice none;
    none.reasons = std::move(found.selection.choice.reasons);
    found.selection.choice = std::move(none);
    found.selection.choice.reasons.emplace_back("that configuration failed when this problem was tuned");
  }
  found.selection.choice.config.clear();
  const space::Space space = spec::make_space(found.spec, problem, device::device_facts(found.device));
  const std::vector<space::Config> configs =
      dispatch::default_configs(found.spec, space, problem, found.device, settings_.default_config);
  found.selection.choice.config = space.named(configs.front());
  if (found.has_failed(found.selection.choice.config))
    found.refusal = found.failure->message;
  else if (const std::string objection =
               selector_.objection_to(found.selection.choice.config, found.spec, problem, found.device, found.archs);
           !objection.empty())
    found.refusal = fmt::format(
        "{}, {}: nothing that was measured may answer, and the default configuration {}, so it is not run. Tune the "
        "problem (xtune run, or a policy that tunes), or name another one in LoadSettings::default_config",
        name(), space::shown_text(problem), objection);
  found.selection.choice.reasons.push_back("the default configuration: " +
                                           origin_of_default(settings_, found.spec, found.selection.choice.config));
  return found;
}

Prepared KernelState::load(const Key& key, const Bindings& problem, const device::DeviceInfo& device,
                           const dispatch::Build& build) {
  const std::vector<backend::LoadedKernel> kernels = constants_.load(build, runtime_);
  Prepared prepared;
  prepared.key = key;
  const std::vector<std::size_t> sizes = plan_.sizes();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const device::Step& step = build.launch.steps[i];
    const std::vector<std::size_t> given = step.chosen<std::size_t>(sizes);
    if (const auto& takes = kernels[i].parameter_bytes; takes && *takes != given)
      throw Error(
          ErrorKind::invalid_spec,
          fmt::format("{} takes parameters of [{}] bytes, but {} args are [{}] bytes",
                      step.name.empty() ? fmt::format("kernel '{}'", name()) : name() + ": " + step.name,
                      fmt::join(*takes, ", "), step.name.empty() ? "the spec's" : "its", fmt::join(given, ", ")));
    prepared.steps.push_back({kernels[i].handle, step.launch, step.arguments, step.name});
  }
  prepared.as_passed = build.launch.steps.size() == 1 && plan_.takes_as_passed(build.launch.steps.front());
  std::vector<measure::TensorMap> maps;
  for (const std::size_t map : plan_.map_numbers()) maps.push_back(build.maps.at(map));
  if (!maps.empty()) prepared.maps = std::make_shared<dispatch::EncodedMaps>(std::move(maps));
  for (const std::size_t scalar : plan_.filled_scalars()) prepared.filled.push_back(build.scalars.at(scalar));
  if (settings_.checked) prepared.bytes = plan_.buffer_bytes(problem, device, build.scratch_bytes);
  return prepared;
}

Prepared KernelState::make(const Key& key, const Case& found) try {
  std::atomic<std::uint64_t>* const calls =
      logs_.coverage ? logs_.coverage->add(found.problem, found.device, found.selection.choice, found.refusal)
                     : nullptr;
  if (!found.refusal.empty()) throw dispatch::ProvenWrong(ErrorKind::nothing_valid, found.refusal);
  if (found.failure)
    say(fmt::format("{}. It runs {}, which was not tried", found.failure->message,
                    space::shown_text(found.selection.choice.config)));
  const space::Space space = spec::make_space(found.spec, found.problem, device::device_facts(found.device));
  const record::Record* const record = found.selection.record ? &*found.selection.record : nullptr;
  std::optional<space::Config> chosen;
  if (record) chosen = dispatch::config_in(space, found.selection.choice.config);
  const std::vector<std::string> toolchains = selector_.toolchains(found.device);
  std::vector<std::string> failures;
  bool nothing_stored = true;
  const auto attempt = [&](const space::Config& config, const record::Record* of) -> std::optional<Prepared> {
    try {
      const dispatch::Build build =
          builder_.build(found.spec, space, found.problem, found.device, config, of, toolchains, found.archs);
      Prepared prepared = load(key, found.problem, found.device, build);
      prepared.calls = calls;
      return prepared;
    } catch (const build::CandidateFailure& failure) {
      nothing_stored = false;
      failures.emplace_back(failure.what());
    } catch (const dispatch::NotStored& error) {
      failures.emplace_back(error.what());
    }
    return std::nullopt;
  };
  if (chosen)
    if (auto prepared = attempt(*chosen, record)) return std::move(*prepared);
  if (record && settings_.frozen)
    throw Error(
        ErrorKind::unavailable,
        fmt::format("{}, {}: the bundle's configuration {} does not run here, and a frozen kernel runs no other: "
                    "{}",
                    name(), space::shown_text(found.problem), space::shown_text(found.selection.choice.config),
                    failures.empty() ? "it is not in the spec's space" : failures.front()));
  for (const space::Config& config :
       dispatch::default_configs(found.spec, space, found.problem, found.device, settings_.default_config)) {
    const Bindings bindings = space.named(config);
    if (found.has_failed(bindings)) continue;
    if (std::string against = selector_.objection_to(bindings, found.spec, found.problem, found.device, found.archs);
        !against.empty()) {
      failures.push_back(std::move(against));
      continue;
    }
    // With the record: an artifact that does not match it must not be used through a default configuration either.
    auto prepared = attempt(config, record);
    if (!prepared) continue;
    if (record && logs_.coverage) {
      Choice ran = found.selection.choice;
      ran.kind = Choice::Kind::none;
      ran.config = bindings;
      logs_.coverage->add(found.problem, found.device, ran, {});
    }
    if (chosen)
      say(fmt::format("{}, {}: the chosen configuration does not run here, a default one does: {}", name(),
                      space::shown_text(found.problem), failures.front()));
    return std::move(*prepared);
  }
  const std::string why = failures.empty() ? "" : ": " + failures.front();
  if (nothing_stored)
    throw Error(ErrorKind::unavailable,
                fmt::format("{}, {}: nothing to run{}", name(), space::shown_text(found.problem), why));
  throw Error(ErrorKind::nothing_valid,
              fmt::format("{}, {}: none of {} configurations runs on {}{}", name(), space::shown_text(found.problem),
                          failures.size(), found.device.name, why));
} catch (const Error& error) {
  if (logs_.coverage && found.refusal.empty())
    logs_.coverage->add(found.problem, found.device, found.selection.choice, error.what());
  throw;
}

const Prepared* KernelState::add(const Key& key, const Bindings& problem) {
  if (preparer_ == std::this_thread::get_id())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}, {}: a callback that was called while another problem is prepared calls the kernel for "
                            "this new one; call it once the first call has returned",
                            name(), space::shown_text(problem)));
  const std::lock_guard lock(preparing_);
  const Preparer preparer(preparer_);
  const base::RememberNothing writes_nothing(settings_.frozen);
  if (const Prepared* const entry = table_.find(key, key.hash())) return entry;
  if (parts_.fixed) return table_.put(make_fixed(key, problem));
  try {
    Case found = case_of(problem);
    const bool tuning = wants_tuning(found);
    if (tuning && settings_.policy == Policy::tune_once) {
      tune(problem);
      found = case_of(problem);
    }
    if (tuning && settings_.policy == Policy::tune_in_background && !found.refusal.empty()) {
      table_.put(refused(key, found.refusal));
      tune_in_background(key, problem);
    }
    Prepared prepared = make(key, found);
    if (table_.size() >= max_problems) {
      // Too many to keep: this one exists until the thread's next.
      say(fmt::format("{}: more than {} problems: further ones are prepared at each call", name(), max_problems));
      thread_local std::unique_ptr<const Prepared> passing;
      passing = std::make_unique<const Prepared>(std::move(prepared));
      return passing.get();
    }
    const Prepared* const entry = table_.put(std::move(prepared));
    if (tuning && settings_.policy == Policy::tune_in_background) tune_in_background(key, problem);
    return entry;
  } catch (const build::CandidateFailure& failure) {
    throw Error(ErrorKind::nothing_valid,
                fmt::format("{}, {}: {}", name(), space::shown_text(problem), failure.what()));
  }
}

Bindings KernelState::whole(const Binding& binding, const Bindings& sizes) const {
  Bindings problem = binding.fixed;
  for (const auto& [name, value] : sizes) problem.insert_or_assign(name, value);
  if (parts_.fixed) problem.insert(parts_.fixed->problem.begin(), parts_.fixed->problem.end());
  problem = plan_.bind(problem).fixed;
  for (const auto& [name, value] : parts_.spec.cases.front())
    if (!problem.contains(name))
      throw Error(ErrorKind::invalid_argument, fmt::format("{}: the problem size '{}' is missing", this->name(), name));
  return problem;
}

Choice KernelState::choice(const Binding& binding, const Bindings& sizes) {
  const Bindings problem = whole(binding, sizes);
  if (!parts_.fixed) {
    const base::RememberNothing writes_nothing(settings_.frozen);
    Case found = case_of(problem);
    if (!found.refusal.empty()) throw dispatch::ProvenWrong(ErrorKind::nothing_valid, found.refusal);
    Choice choice = std::move(found.selection.choice);
    choice.scratch = dispatch::scratch_of(found.spec, problem, found.device, choice.config);
    return choice;
  }
  require_fixed(problem);
  return parts_.fixed->choice;
}

std::string KernelState::digest(const Binding& binding, const std::vector<Bindings>& problems) {
  if (!bundle_)
    throw Error(ErrorKind::invalid_argument, name() + ": a kernel that was loaded without a bundle has no digest");
  std::vector<store::ProblemChoice> choices;
  for (const Bindings& problem : problems)
    choices.emplace_back(whole(binding, problem), choice(binding, problem).config);
  return store::choices_digest(bundle_->digest(), name(), choices);
}

void KernelState::prepare(const Binding& binding, const Bindings& sizes) {
  const Bindings problem = whole(binding, sizes);
  if (!binding.missing.empty()) plan_.problem(binding, nullptr);  // throws, because no call could follow
  std::array<measure::ScalarArgument, dispatch::max_arguments> scalars;
  std::array<const void*, dispatch::max_arguments> values{};
  for (const SizeSource& source : binding.sources) {
    measure::ScalarArgument& scalar = scalars[source.passed];
    const Value& value = problem.at(source.name);
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      spec::encode(source.dtype, *integer, scalar.bytes.data());
    else if (const auto* number = std::get_if<double>(&value))
      spec::encode(source.dtype, *number, scalar.bytes.data());
    else
      spec::encode(source.dtype, std::int64_t{value == Value(true)}, scalar.bytes.data());
    values[source.passed] = scalar.bytes.data();
  }
  // The values that the call will read from its scalars, which may have narrower types than the values given here.
  const Bindings called = plan_.problem(binding, values.data());
  for (const auto& [name, value] : problem)
    if (called.at(name) != value)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: no call can have {} = {}: the argument's type does not hold it", this->name(), name,
                              to_text(value)));
  const Key key = key_of(binding, values.data());
  if (const Prepared* const entry = table_.find(key, key.hash()); !entry)
    add(key, called);
  else if (!entry->refusal.empty())
    fail(*entry, 0);
}

}  // namespace xtune::detail
