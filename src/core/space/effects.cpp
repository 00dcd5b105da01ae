// How many configurations each constraint removes on its own, for the message about an empty space.
#include <cmath>

#include "base/random.hpp"
#include "core/space/solver.hpp"

namespace xtune::space {

namespace {

constexpr std::uint64_t max_tested = std::uint64_t{1} << 20;

// A combination for which the constraint cannot be evaluated counts as removed.
bool removes(const BoundConstraint& constraint, const std::vector<expr::Scalar>& values) {
  try {
    return !constraint.holds(values);
  } catch (const ConstraintError&) {
    return true;
  }
}

}  // namespace

ConstraintEffect effect_of(const BoundConstraint& constraint, const std::string& text,
                           const std::vector<Parameter>& parameters) {
  std::vector<expr::Scalar> values;
  double whole = 1;
  for (const Parameter& parameter : parameters) {
    values.push_back(expr::Scalar::of(parameter.values.front()));
    whole *= static_cast<double>(parameter.values.size());
  }
  double product = 1;
  for (const std::uint32_t used : constraint.parameters())
    product *= static_cast<double>(parameters[used].values.size());

  ConstraintEffect effect{text, 0, 0};
  if (product > static_cast<double>(max_tested)) {
    base::Random random(1);
    for (; effect.tested < max_tested; ++effect.tested) {
      for (const std::uint32_t used : constraint.parameters())
        values[used] = expr::Scalar::of(parameters[used].values[random.below(parameters[used].values.size())]);
      effect.removed += removes(constraint, values);
    }
    return effect;
  }
  for (; effect.tested < static_cast<std::uint64_t>(product); ++effect.tested) {
    std::uint64_t rest = effect.tested;
    for (const std::uint32_t used : constraint.parameters()) {
      const auto& choices = parameters[used].values;
      values[used] = expr::Scalar::of(choices[rest % choices.size()]);
      rest /= choices.size();
    }
    effect.removed += removes(constraint, values);
  }
  if (whole <= 0x1p53) {  // other parameters only multiply the counts
    const auto copies = static_cast<std::uint64_t>(whole / product);
    effect.removed *= copies;
    effect.tested *= copies;
  }
  return effect;
}

}  // namespace xtune::space
