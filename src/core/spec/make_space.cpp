// The space of one problem on one device, with errors told in the spec's places.
#include "base/text.hpp"
#include "core/spec/spec.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

[[noreturn]] void nothing_valid(const Spec& spec, const Space& space, const Bindings& problem) {
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
    message += "\n  " + to_string(spec.constraints[i].at) + ": \"" + effect.text + "\" removes " +
               std::to_string(effect.removed) + " of " + std::to_string(effect.tested) +
               (effect.removed == effect.tested ? ": all" : "");
  }
  throw Error(ErrorKind::nothing_valid, message);
}

}  // namespace

Space make_space(const Spec& spec, const Bindings& problem, const Bindings& device_facts,
                 const std::function<void()>& poll) {
  std::vector<Expression> constraints;
  for (const Text& text : spec.constraints)
    constraints.push_back(CompiledText::expression(text).parts().front().expression.front());
  Bindings constants = device_facts;
  constants.insert(problem.begin(), problem.end());
  try {
    Space space = spec.configs ? Space::listed(spec.parameters, *spec.configs)
                               : Space(spec.parameters, std::move(constraints), constants, poll);
    if (space.size() == 0) nothing_valid(spec, space, problem);
    return space;
  } catch (const ConstraintError& error) {
    const Text& text = spec.constraints[error.constraint];
    throw spec_error(spec, locate(text, error.column),
                     std::string(error.what()) + " in the constraint \"" + text.text + "\"");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    // A space that cannot be numbered is the spec's doing: another machine could not do it either.
    throw spec_error(spec, spec.parameters_at.empty() ? Location{spec.path.string()} : spec.parameters_at.front(),
                     error.what());
  }
}

}  // namespace xtune
