// The search space: parameters and constraints, and the numbering of its valid configurations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/value.hpp"

namespace xtune::space {

struct Parameter {
  std::string name;
  std::vector<Value> values;  ///< distinct, in the order of the spec, not empty
  bool compile_time = true;   ///< false: used only for launch and arguments, so no recompile
};

/// How many configurations one constraint removes on its own; the error "no config is valid" lists these.
struct ConstraintEffect {
  std::string text;
  std::uint64_t removed = 0;  ///< of `tested` configurations
  std::uint64_t tested = 0;   ///< all, or a uniform sample if the product is too large to enumerate
};

/// An ExpressionError in the constraint with this number; the message ends with the values that caused it.
struct ConstraintError : ExpressionError {
  ConstraintError(const std::string& message, std::size_t column_, std::string word_, std::size_t constraint_)
      : ExpressionError(message, column_, std::move(word_)), constraint(constraint_) {}
  std::size_t constraint;
};

/// Valid configurations, numbered 0 .. size()-1 in lexicographic order of the parameters' value indices. Exception: a
/// group of parameters whose diagram would be too large in that order follows another order. Immutable after
/// construction, cheap to copy, safe to share between threads.
///
/// Parameters that share no constraint, directly or through others, are solved separately and combined by arithmetic. A
/// group connected by constraints is a decision diagram: time and memory depend on the number of different ways in
/// which a prefix of values limits the rest, not on the number of configurations.
class Space {
 public:
  /// constants: problem sizes under their names and device facts under "device.<name>". Throws ConstraintError for a
  /// constraint that cannot be evaluated, Error(unsupported) for a space that is too large to number,
  /// Error(invalid_argument) for a parameter without values. poll, if given, is called many times a second while the
  /// constraints are solved; an exception from it ends the construction.
  Space(std::vector<Parameter> parameters, std::vector<Expression> constraints, const Bindings& constants,
        const std::function<void()>& poll = {});
  /// The space of exactly these configurations: rows of value indices, one for each parameter, in any order. Throws
  /// Error(invalid_argument) for a row that has another length, contains an unknown value, or occurs twice.
  static Space listed(std::vector<Parameter> parameters, std::vector<std::vector<std::uint32_t>> rows);

  const std::vector<Parameter>& parameters() const noexcept;
  double cartesian_size() const noexcept;  ///< the product of the numbers of values; a double, as it may exceed 2^64
  std::uint64_t size() const noexcept;
  /// Throws std::out_of_range unless index < size().
  Config at(std::uint64_t index) const;
  std::vector<std::uint32_t> value_indices(std::uint64_t index) const;
  /// nullopt: not valid, or a value that the parameter does not have. An integer and the float equal to it count as the
  /// same value.
  std::optional<std::uint64_t> index_of(const Config& config) const;
  std::optional<std::uint64_t> index_of(const std::vector<std::uint32_t>& value_indices) const;
  /// The same by name; nullopt: other names, or not valid.
  std::optional<std::uint64_t> index_of(const Bindings& named_values) const;
  /// The values in the order of the parameters, valid or not; nullopt: the names are not exactly those of the
  /// parameters.
  std::optional<Config> ordered(const Bindings& named_values) const;
  /// The values by their parameters' names. Throws std::out_of_range for too few values.
  Bindings named(const Config& config) const;

  /// Valid configurations that differ from `index` in exactly one parameter, ascending.
  std::vector<std::uint64_t> neighbours(std::uint64_t index) const;

  /// For each constraint, in spec order. Enumerates the product of the constraint's parameters (a sample above 2^20).
  std::vector<ConstraintEffect> constraint_effects() const;

 private:
  struct State;
  explicit Space(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace xtune::space
