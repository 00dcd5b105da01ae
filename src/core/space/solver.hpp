// Finds the valid combinations of parameters that share constraints.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/space/diagram.hpp"
#include "core/space/scalar.hpp"
#include "core/space/space.hpp"

namespace xtune::space {

/// A constraint with its names resolved: to parameters' positions, or to constants.
class BoundConstraint {
 public:
  /// Throws ConstraintError for a name that is neither.
  BoundConstraint(std::size_t number, const Expression& expression, const std::vector<Parameter>& parameters,
                  const Bindings& constants);

  /// Positions of the parameters with more than one value that it uses, ascending.
  const std::vector<std::uint32_t>& parameters() const noexcept { return parameters_; }
  /// values: one a parameter of the space. Throws ConstraintError with the values at which it cannot be evaluated.
  bool holds(std::span<const expr::Scalar> values) const;

  struct Source {
    bool is_parameter = false;
    std::uint32_t position = 0;
    expr::Scalar constant;  ///< borrows strings from the space's constants
  };
  const Expression& expression() const noexcept { return *expression_; }
  /// Of each name in the expression's code.
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
/// The combinations of `members` (positions in `parameters`, ascending) that meet all constraints. A constraint is
/// checked as soon as its parameters have values, and given up earlier where bounds decide it; prefixes that leave all
/// constraints the same become one. The order is that of the parameters as long as the diagram stays small in it, else
/// one that keeps what the constraints still depend on small. values: one a parameter, the group's are overwritten.
/// poll: as in Space. Throws Error(unsupported) when no order keeps it within bounds.
Solution solve(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
               const std::vector<const BoundConstraint*>& constraints, std::vector<expr::Scalar>& values,
               const std::function<void()>& poll);

/// What the constraint removes of the whole product, or of a uniform sample where its own product is above 2^20.
ConstraintEffect effect_of(const BoundConstraint& constraint, const std::string& text,
                           const std::vector<Parameter>& parameters);

}  // namespace xtune::space
