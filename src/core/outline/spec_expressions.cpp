// Integer division is // in a spec.
#include "core/outline/spec_expressions.hpp"

#include "core/outline/value_ranges.hpp"

namespace xtune::outline {

namespace {

constexpr std::size_t longest = 500;  ///< characters; a longer expression is of no help

}  // namespace

std::optional<std::string> SpecExpressions::operand(const std::string& name, int depth) const {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  const auto stands_for = expressions_.find(name);
  if (stands_for == expressions_.end() || depth > 8) return std::nullopt;
  auto text = translate(stands_for->second, depth + 1);
  const Tokens& tokens = stands_for->second;
  const bool whole = tokens.size() == 1 || (tokens.front().is("(") && closing(tokens, 0) + 1 == tokens.size());
  return text && !whole ? "(" + *text + ")" : text;
}

std::optional<std::string> SpecExpressions::translate(const Tokens& tokens, int depth) const {
  std::string text;
  if (tokens.empty()) return std::nullopt;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    std::optional<std::string> part;
    if (token.kind == Token::Kind::number) {
      if (const auto value = integer_of(token.text)) part = std::to_string(*value);
    } else if (token.is("blockDim") && i + 2 < tokens.size()) {
      part = operand("blockDim." + tokens[i + 2].text, depth);
      i += 2;
    } else if (token.is_word()) {
      part = operand(token.text, depth);
    } else if (token.is("+") || token.is("-") || token.is("*") || token.is("%")) {
      part = " " + token.text + " ";
    } else if (token.is("/")) {
      part = " // ";
    } else if (token.is("(") || token.is(")")) {
      part = token.text;
    }
    if (!part || text.size() > longest) return std::nullopt;
    text += *part;
  }
  return text;
}

}  // namespace xtune::outline
