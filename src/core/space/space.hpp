// The search space: parameters and constraints, and the numbering of its valid configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/value.hpp"

namespace xtune {

struct Parameter {
  std::string name;
  std::vector<Value> values;  ///< distinct, in the order of the spec, never empty
  bool compile_time = true;   ///< false: reaches launch and arguments only, so no recompile
};

/// How many configurations one constraint alone removes; what the "no config is valid" error lists.
struct ConstraintEffect {
  std::string text;
  std::uint64_t removed = 0;  ///< of `tested` configurations
  std::uint64_t tested = 0;   ///< all, or a uniform sample where the product is too large to walk
};

/// Valid configurations, numbered 0 .. size()-1 in lexicographic order of the parameters' value indices.
/// Immutable after construction; safe to share between threads.
class Space {
 public:
  /// constants: problem sizes under their names and device facts under "device.<name>". Throws ExpressionError.
  Space(std::vector<Parameter> parameters, std::vector<Expression> constraints, const Bindings& constants);

  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  double cartesian_size() const noexcept;  ///< the plain product; a double because it may exceed 2^64
  std::uint64_t size() const noexcept;
  Config at(std::uint64_t index) const;
  std::vector<std::uint32_t> value_indices(std::uint64_t index) const;
  std::optional<std::uint64_t> index_of(const Config& config) const;
  std::optional<std::uint64_t> index_of(const std::vector<std::uint32_t>& value_indices) const;

  /// Valid configurations that differ from `index` in exactly one parameter, ascending.
  std::vector<std::uint64_t> neighbours(std::uint64_t index) const;

  /// Per constraint, in spec order; costs a pass over the product (sampled above 2^20 configurations).
  std::vector<ConstraintEffect> constraint_effects() const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace xtune
