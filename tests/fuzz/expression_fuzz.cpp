// Fuzz target: an expression gives a value or an ExpressionError, and the same again.
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/space/expression.hpp"

using namespace xtune::space;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xtune;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Value integer = std::int64_t{96}, negative = std::int64_t{-7}, floating = 0.75, boolean = true,
              word = std::string("row");
  const Lookup lookup = [&](std::string_view name) -> const Value* {
    if (name.empty() || name == "missing") return nullptr;
    switch (name.back() % 5) {
      case 0:
        return &integer;
      case 1:
        return &negative;
      case 2:
        return &floating;
      case 3:
        return &boolean;
      default:
        return &word;
    }
  };
  try {
    const Expression expression = Expression::parse(text);
    for (const std::string& name : expression.names())
      if (expression.column_of(name) > text.size()) std::abort();
    const std::string value = to_text(expression.evaluate(lookup));
    if (value != to_text(Expression::parse(text).evaluate(lookup))) std::abort();
  } catch (const ExpressionError& error) {
    if (error.column > text.size()) std::abort();
  }
  return 0;
}
