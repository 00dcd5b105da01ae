// The space of one problem on one device, with errors told in the spec's places.
#include "base/text.hpp"
#include "core/spec/spec.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

// With candidates the space holds only what the device can launch, as far as the launch's expressions tell.
std::vector<Text> constraints_of(const Spec& spec, const Bindings& device_facts) {
  std::vector<Text> constraints = spec.constraints;
  if (!spec.candidates) return constraints;
  const auto limit = [&](const Text& what, const std::string& text, const std::string& fact) {
    const auto found = device_facts.find(fact);
    if (found != device_facts.end() && found->second != Value(std::int64_t{0}))
      constraints.push_back({text + " <= " + fact, what.at});
  };
  std::string threads;
  for (const Text& extent : spec.launch.block) threads += (threads.empty() ? "(" : " * (") + extent.text + ")";
  if (!threads.empty()) limit(spec.launch.block.front(), threads, "device.max_threads_per_block");
  if (spec.launch.shared)
    limit(*spec.launch.shared, "(" + spec.launch.shared->text + ")", "device.shared_per_block_optin");
  return constraints;
}

[[noreturn]] void nothing_valid(const Spec& spec, const std::vector<Text>& constraints, const Space& space,
                                const Bindings& problem) {
  if (spec.configs)
    throw Error(ErrorKind::nothing_valid,
                to_string(spec.configs_at) + ": none of the listed configurations has the values that -D asks for");
  std::string message = spec.path.string() + ": no configuration of the space is valid";
  std::string sizes;
  for (const auto& [name, value] : problem) sizes += (sizes.empty() ? " for " : ", ") + name + " = " + to_text(value);
  message += sizes + ". Each constraint alone removes:";
  const std::vector<ConstraintEffect> effects = space.constraint_effects();
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const ConstraintEffect& effect = effects[i];
    message += "\n  " + to_string(constraints[i].at) + ": \"" + effect.text + "\" removes " +
               std::to_string(effect.removed) + " of " + std::to_string(effect.tested) +
               (effect.removed == effect.tested ? ": all" : "");
  }
  throw Error(ErrorKind::nothing_valid, message);
}

}  // namespace

Space make_space(const Spec& spec, const Bindings& problem, const Bindings& device_facts,
                 const std::function<void()>& poll) {
  const std::vector<Text> texts = constraints_of(spec, device_facts);
  std::vector<Expression> constraints;
  for (const Text& text : texts)
    constraints.push_back(CompiledText::expression(text).parts().front().expression.front());
  Bindings constants = device_facts;
  constants.insert(problem.begin(), problem.end());
  try {
    Space space = spec.configs ? Space::listed(spec.parameters, *spec.configs)
                               : Space(spec.parameters, std::move(constraints), constants, poll);
    if (space.size() == 0) nothing_valid(spec, texts, space, problem);
    return space;
  } catch (const ConstraintError& error) {
    const Text& text = texts[error.constraint];
    const bool own = error.constraint < spec.constraints.size();
    throw spec_error(spec, own ? locate(text, error.column) : text.at,
                     std::string(error.what()) + " in the constraint \"" + text.text + "\"");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    // A space that cannot be numbered is the spec's doing: another machine could not do it either.
    throw spec_error(spec, spec.parameters_at.empty() ? Location{spec.path.string()} : spec.parameters_at.front(),
                     error.what());
  }
}

}  // namespace xtune
