// The space of one problem on one device, with errors that point into the spec.
#include <numeric>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/spec.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

// With candidates, the space has only configurations that the device can launch, as far as the launch's expressions
// show.
std::vector<Text> constraints_of(const Spec& spec, const Bindings& device_facts) {
  std::vector<Text> constraints = spec.constraints;
  if (!spec.candidates) return constraints;
  for (const StepSpec& step : steps_of(spec)) {
    const std::string unless = step.when ? "not (" + step.when->text + ") or " : "";
    const auto limit = [&](const Text& what, const std::string& text, const std::string& fact) {
      const auto found = device_facts.find(fact);
      if (found != device_facts.end() && found->second != Value(std::int64_t{0}))
        constraints.push_back({unless + text + " <= " + fact, what.at, false, spec.derived});
    };
    const LaunchSpec& launch = step.launch;
    std::string threads;
    for (const Text& extent : launch.block) threads += (threads.empty() ? "(" : " * (") + extent.text + ")";
    if (!threads.empty()) limit(launch.block.front(), threads, "device.max_threads_per_block");
    if (launch.shared) limit(*launch.shared, "(" + launch.shared->text + ")", "device.shared_per_block_optin");
  }
  return constraints;
}

[[noreturn]] void nothing_valid(const Spec& spec, const std::vector<Text>& constraints, const space::Space& space,
                                const Bindings& problem) {
  if (spec.configs)
    throw Error(
        ErrorKind::nothing_valid,
        to_string(spec.configs_at) + ": none of the listed configurations has the values that -D and --filter ask for");
  std::string message = spec.path.string() + ": no configuration of the space is valid";
  std::string sizes;
  for (const auto& [name, value] : problem)
    sizes += (sizes.empty() ? " for " : ", ") + name + " = " + space::shown_text(value);
  message += sizes + ". Each constraint on its own removes:";
  const std::vector<space::ConstraintEffect> effects = space.constraint_effects();
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const space::ConstraintEffect& effect = effects[i];
    message += "\n  " + to_string(constraints[i].at) + ": \"" + base::printable(effect.text, 300) + "\" removes " +
               std::to_string(effect.removed) + " of " + std::to_string(effect.tested) +
               (effect.removed == effect.tested ? ": all" : "");
  }
  throw Error(ErrorKind::nothing_valid, message);
}

using Rows = std::vector<std::vector<std::uint32_t>>;

/// The listed configurations that satisfy the constraints, which come from --filter.
Rows filtered(const Spec& spec, const std::vector<space::Expression>& constraints, const Bindings& constants) {
  Rows rows = *spec.configs;
  for (std::size_t number = 0; number < constraints.size(); ++number)
    std::erase_if(rows, [&](const std::vector<std::uint32_t>& row) {
      space::Config config;
      for (std::size_t i = 0; i < row.size(); ++i) config.push_back(spec.parameters[i].values[row[i]]);
      try {
        return !space::truth(constraints[number].evaluate(lookup_names(constants, {}, spec.parameters, &config)));
      } catch (const space::ExpressionError& error) {
        throw space::ConstraintError(error.what(), error.column, error.word, number);
      }
    });
  return rows;
}

/// Every count-th of the numbered configurations, in an order that is independent of their numbers: each part has all
/// values of all parameters, as far as its size allows.
space::Space part_of(const space::Space& space, const Partition& partition) {
  constexpr std::uint64_t most = 20'000'000;
  if (space.size() / partition.count > most)
    throw Error(ErrorKind::invalid_argument,
                "--partition: a part of " + std::to_string(space.size() / partition.count) +
                    " configurations is too large to list (at most 20000000): take more parts, or a --filter");
  // A step without a common factor visits each number once; the golden ratio spreads the visits.
  std::uint64_t step = static_cast<std::uint64_t>(static_cast<double>(space.size()) * 0.6180339887498949) | 1;
  while (std::gcd(step, space.size()) != 1) step += 2;
  step %= space.size();
  Rows rows;
  std::uint64_t index = 0;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    if (i % partition.count == partition.part) rows.push_back(space.value_indices(index));
    index = (index + step) % space.size();
  }
  return space::Space::listed(space.parameters(), std::move(rows));
}

[[noreturn]] void empty_part(const Spec& spec, const space::Space& space) {
  throw Error(ErrorKind::nothing_valid,
              "--partition " + std::to_string(spec.partition.part) + "/" + std::to_string(spec.partition.count) +
                  ": the space has " + std::to_string(space.size()) + " configurations, and this part none of them");
}

}  // namespace

space::Space make_space(const Spec& spec, const Bindings& problem, const Bindings& device_facts,
                        const std::function<void()>& poll) {
  const std::vector<Text> texts = constraints_of(spec, device_facts);
  std::vector<space::Expression> constraints;
  for (const Text& text : texts)
    constraints.push_back(CompiledText::expression(text).parts().front().expression.front());
  Bindings constants = device_facts;
  constants.insert(problem.begin(), problem.end());
  try {
    space::Space space = spec.configs ? space::Space::listed(spec.parameters, filtered(spec, constraints, constants))
                                      : space::Space(spec.parameters, std::move(constraints), constants, poll);
    if (space.size() == 0) nothing_valid(spec, texts, space, problem);
    if (spec.partition.count == 1) return space;
    if (spec.partition.part >= space.size()) empty_part(spec, space);
    return part_of(space, spec.partition);
  } catch (const space::ConstraintError& error) {
    const Text& text = texts[error.constraint];
    const bool own = error.constraint < spec.constraints.size();
    throw spec_error(spec, own ? locate(text, error.column) : text.at,
                     std::string(error.what()) + " in the constraint \"" + text.text + "\"");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    // A space that cannot be numbered is an error of the spec: it would be the same on another machine.
    throw spec_error(spec, spec.parameters_at.empty() ? Location{spec.path.string()} : spec.parameters_at.front(),
                     error.what());
  }
}

}  // namespace xtune::spec
