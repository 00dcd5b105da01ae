// A constraint with its names resolved.
#include <algorithm>

#include "base/named.hpp"
#include "core/space/bindings_text.hpp"
#include "core/space/interpreter.hpp"
#include "core/space/solver.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::space {

BoundConstraint::BoundConstraint(std::size_t number, const Expression& expression,
                                 const std::vector<Parameter>& parameters, const Bindings& constants)
    : number_(number), expression_(&expression) {
  for (const expr::NameUse& use : expression.code().uses) {
    Source source;
    if (const Parameter* parameter = base::find_named(parameters, use.name)) {
      source.is_parameter = true;
      source.position = static_cast<std::uint32_t>(parameter - parameters.data());
      if (parameter->values.size() > 1) parameters_.push_back(source.position);
    } else if (const Value* constant = find_value(constants, use.name)) {
      source.constant = expr::Scalar::of(*constant);
    } else {
      throw ConstraintError("unknown name '" + use.name + "'", use.column, use.name, number_);
    }
    sources_.push_back(source);
  }
  std::sort(parameters_.begin(), parameters_.end());
}

bool BoundConstraint::holds(std::span<const expr::Scalar> values) const {
  const auto load = [&](std::size_t index) {
    const Source& source = sources_[index];
    return source.is_parameter ? values[source.position] : source.constant;
  };
  try {
    return expr::truth(expr::run(expression_->code(), load));
  } catch (const ExpressionError& error) {
    std::string where;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      where += (where.empty() ? " (" : ", ") + expression_->code().uses[i].name + " = " + shown_text(load(i).value());
    throw ConstraintError(error.what() + (where.empty() ? where : where + ")"), error.column, error.word, number_);
  }
}

}  // namespace xtune::space
