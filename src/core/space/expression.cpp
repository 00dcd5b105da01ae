// Expression: parsed once, evaluated with any lookup of names.
#include "core/space/expression.hpp"

#include "core/space/interpreter.hpp"

namespace xtune::space {

Expression::Expression(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

Expression Expression::parse(std::string_view text, const Derived* derived) {
  return Expression(std::make_shared<const Code>(expr::parse(text, derived)));
}

Value Expression::evaluate(const Lookup& lookup) const {
  const auto load = [&](std::size_t index) {
    const expr::NameUse& use = code_->uses[index];
    const Value* const value = lookup(use.name);
    if (value == nullptr) throw ExpressionError("unknown name '" + use.name + "'", use.column, use.name);
    return expr::Scalar::of(*value);
  };
  return expr::run(*code_, load).value();
}

const std::set<std::string, std::less<>>& Expression::names() const { return code_->names; }

std::size_t Expression::column_of(std::string_view name) const {
  for (const expr::NameUse& use : code_->uses)
    if (use.name == name) return use.column;
  return 0;
}

const std::string& Expression::text() const { return code_->text; }

bool truth(const Value& value) noexcept { return expr::truth(expr::Scalar::of(value)); }

}  // namespace xtune::space
