// Finds the valid combinations of parameters that share constraints.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/space/code.hpp"
#include "core/space/diagram.hpp"
#include "core/space/space.hpp"

namespace xtune::space {

/// A constraint whose names are resolved to parameters' positions or to constants.
class BoundConstraint {
 public:
  /// Throws ConstraintError for a name that is neither.
  BoundConstraint(std::size_t number, const Expression& expression, const std::vector<Parameter>& parameters,
                  const Bindings& constants);

  /// Positions of the parameters that it uses and that have more than one value, ascending.
  const std::vector<std::uint32_t>& parameters() const noexcept { return parameters_; }
  /// values: one for each parameter of the space. Throws ConstraintError with the values if it cannot be evaluated.
  bool holds(std::span<const expr::Scalar> values) const;

  struct Source {
    bool is_parameter = false;
    std::uint32_t position = 0;
    expr::Scalar constant;  ///< refers to strings of the space's constants
  };
  const Expression& expression() const noexcept { return *expression_; }
  /// One source for each name in the expression's code.
  const std::vector<Source>& sources() const noexcept { return sources_; }

 private:
  std::size_t number_;
  const Expression* expression_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> parameters_;
};

/// The valid combinations of a group of parameters; the diagram's layers follow `order`.
struct Solution {
  std::vector<std::uint32_t> order;
  Diagram diagram;
};
/// The combinations of `members` (positions in `parameters`, ascending) that satisfy all constraints. A constraint is
/// checked as soon as its parameters have values, or earlier if bounds decide it; prefixes that leave the same
/// constraints open are merged. The order is that of the parameters as long as the diagram stays small in it; else an
/// order in which the open parts of the constraints are small. values: one for each parameter, the group's are
/// overwritten. poll: as in Space. Throws Error(unsupported) if every order takes more than max_bytes of memory, or too
/// many steps.
Solution solve(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
               const std::vector<const BoundConstraint*>& constraints, std::vector<expr::Scalar>& values,
               const std::function<void()>& poll, std::uint64_t max_bytes = 800'000'000);

/// How much the constraint removes from the whole product, or from a uniform sample if its own product is above 2^20.
ConstraintEffect effect_of(const BoundConstraint& constraint, const std::string& text,
                           const std::vector<Parameter>& parameters);

}  // namespace xtune::space
