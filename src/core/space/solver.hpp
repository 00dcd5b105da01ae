// Finds the valid combinations of parameters that share constraints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/space/packed_rows.hpp"
#include "core/space/scalar.hpp"
#include "core/space/space.hpp"

namespace xtune {

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

 private:
  struct Source {
    bool is_parameter = false;
    std::uint32_t position = 0;
    expr::Scalar constant;  ///< borrows strings from the space's constants and single values
  };
  std::size_t number_;
  const Expression* expression_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> parameters_;
};

/// The combinations of `members` (positions in `parameters`, ascending) that meet all constraints, in lexicographic
/// order. Throws Error(unsupported) when they are too many to list, or when the search for them cannot end in
/// reasonable time.
PackedRows solve(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
                 const std::vector<const BoundConstraint*>& constraints, std::vector<expr::Scalar>& values);

/// What the constraint removes of the whole product, or of a uniform sample where its own product is above 2^20.
ConstraintEffect effect_of(const BoundConstraint& constraint, const std::string& text,
                           const std::vector<Parameter>& parameters);

}  // namespace xtune
