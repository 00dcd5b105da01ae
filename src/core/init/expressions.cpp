#include "core/init/expressions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

namespace xtune::init {

bool is_at(const Tokens& tokens, std::size_t i, std::string_view text) {
  return i < tokens.size() && tokens[i].is(text);
}

Tokens simplified(const Tokens& body, bool members, bool reals) {
  static const RE2 index("(?:thread|block)Idx|blockDim"), type("int|unsigned|long|short|size_t|uint|u?int\\d+_t");
  const auto is_real = [&](std::size_t i) { return is_at(body, i, "float") || is_at(body, i, "double"); };
  const auto is_type = [&](std::size_t i) {
    return i < body.size() && (RE2::FullMatch(body[i].text, type) || (reals && is_real(i)));
  };
  Tokens rest;
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::size_t cast = i + 1;
    while (is_type(cast)) ++cast;
    // (Index)n
    const bool is_open = i == 0 || (!body[i - 1].is_word() && !body[i - 1].is(")"));
    if (!members && cast == i + 1 && is_open && cast + 2 < body.size() && body[cast].is_word() && !is_real(cast) &&
        is_at(body, cast + 1, ")") && (body[cast + 2].kind != Token::Kind::mark || body[cast + 2].is("(")))
      ++cast;
    const bool is_member = (body[i].is(".") || body[i].is("->")) && i + 1 < body.size() && body[i + 1].is_word();
    if (body[i].text.ends_with("_cast") && is_at(body, i + 1, "<") && (members || reals || !is_real(i + 2))) {
      i = closing(body, i + 1);
    } else if (body[i].is("(") && cast > i + 1 && is_at(body, cast, ")") && !(i > 0 && body[i - 1].is("sizeof"))) {
      i = cast;
    } else if (is_member && members && !rest.empty()) {
      const bool is_pointed = body[i].is("->") && rest.back().is_word() && !is_at(body, i + 2, "(");
      ++i;
      if (RE2::FullMatch(rest.back().text, index)) rest.back().text += "." + body[i].text;
      if (is_pointed)
        for (const char* each : {"[", "0", "]"})
          rest.push_back({*each == '0' ? Token::Kind::number : Token::Kind::mark, each, body[i].line});
    } else if (is_member && !members && !is_at(body, 0, "[") && !rest.empty() && rest.back().is_word() &&
               !is_at(body, i + 2, "(")) {
      rest.back().text += body[i].text + body[i + 1].text;
      rest.back().end = body[++i].end;
    } else if (!is_type(i) || !is_at(body, i + 1, "(")) {
      rest.push_back(body[i]);
    }
  }
  return rest;
}

Tokens expression_at(const Tokens& tokens, std::size_t i) {
  int depth = 0;
  std::size_t end = i;
  for (; end < tokens.size(); ++end) {
    const std::string& text = tokens[end].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth < 0) break;
    if (depth == 0 && (text == ";" || text == ",")) break;
  }
  return part(tokens, i, end);
}

std::size_t opening(const Tokens& tokens, std::size_t i) {
  std::size_t open = i;
  while (open > 0 && closing(tokens, open) != i) --open;
  return open;
}

Tokens unwrapped(Tokens tokens) {
  while (tokens.size() > 1 && tokens.front().is("(") && closing(tokens, 0) + 1 == tokens.size())
    tokens = part(tokens, 1, tokens.size() - 1);
  return tokens;
}

Operands operands(const Tokens& tokens, const char* form) {
  Operands parts{{}};
  int depth = 0;
  for (const Token& token : tokens) {
    depth += (token.is("(") || token.is("[")) - (token.is(")") || token.is("]"));
    if (depth == 0 && RE2::FullMatch(token.text, form) && !parts.back().second.empty())
      parts.emplace_back(token.text, Tokens());
    else
      parts.back().second.push_back(token);
  }
  return parts;
}

Operands terms_of(const Tokens& sum, const std::string& sign) {
  Operands terms;
  for (auto& [mark, term] : operands(unwrapped(sum), "[-+]")) {
    const std::string own = (mark == "-") == (sign == "-") ? "+" : "-";
    if (operands(unwrapped(term), "[-+]").size() > 1)
      std::ranges::move(terms_of(term, own), std::back_inserter(terms));
    else
      terms.emplace_back(own, unwrapped(std::move(term)));
  }
  return terms;
}

bool mentions(const Tokens& tokens, std::string_view word) {
  return std::ranges::any_of(tokens, [&](const Token& each) { return each.is(word); });
}

std::string object_of(const Token& word) { return word.text.substr(0, word.text.find_first_of(".-")); }

std::vector<Tokens> extents_of(const Tokens& written, const std::map<std::string, Tokens>& definitions, int depth) {
  const Tokens tokens = unwrapped(written);
  std::vector<Tokens> extents;
  if (depth > 8) return extents;
  if (tokens.size() == 1) {
    const auto made = definitions.find(tokens.front().text);
    if (made != definitions.end()) extents = extents_of(made->second, definitions, depth + 1);
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (const auto member = definitions.find(tokens.front().text + "." + "xyz"[i]); member != definitions.end())
        extents[i] = member->second;
    return extents;
  }
  const std::size_t open = is_at(tokens, 0, "dim3") ? 1 : 0;
  const bool is_list = is_at(tokens, open, "{") || (open == 1 && is_at(tokens, open, "("));
  if (!is_list || closing(tokens, open) + 1 != tokens.size()) return extents;
  extents = split_arguments(part(tokens, open + 1, tokens.size() - 1));
  if (extents.size() == 1)
    if (auto same = extents_of(extents.front(), definitions, depth + 1); !same.empty()) return same;
  extents.resize(3, tokens_of("1"));
  return extents;
}

namespace {

std::optional<double> result(const std::string& operation, std::optional<double> left, std::optional<double> right) {
  constexpr double last_exact = 9e15;
  const double a = left.value_or(0), b = right.value_or(0);
  const double value = operation == "+"         ? a + b
                       : operation == "-"       ? a - b
                       : operation == "*"       ? a * b
                       : operation == "/"       ? std::trunc(a / b)
                       : operation == "%"       ? std::fmod(a, b)
                       : operation == "ceildiv" ? std::ceil(a / b)
                       : operation == "min"     ? std::min(a, b)
                       : operation == "max"     ? std::max(a, b)
                                                : a * std::exp2(b);
  const bool is_whole = std::abs(value) < last_exact && value == std::trunc(value);  // no division by zero
  return left && right && is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> computed(const Tokens& expression, const std::map<std::string, std::int64_t>& values) {
  const Tokens tokens = unwrapped(expression);
  if (tokens.size() == 1) {
    const auto known = values.find(tokens.front().text);
    const auto value = known == values.end() ? integer_of(tokens.front().text) : known->second;
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
  }
  auto parts = operands(tokens, "<<");
  for (const char* form : {"[-+]", "[*/%]"})
    if (parts.size() == 1) parts = operands(tokens, form);
  if (parts.size() == 1 && is_at(tokens, 0, "-")) parts = {{"", tokens_of("0")}, {"-", part(tokens, 1, tokens.size())}};
  if (parts.size() == 1 && is_at(tokens, 1, "(")) {
    parts.clear();
    for (const Tokens& each : split_arguments(part(tokens, 2, closing(tokens, 1))))
      parts.emplace_back(tokens.front().text, each);
  }
  if (parts.size() < 2) return std::nullopt;
  auto value = computed(parts.front().second, values);
  for (std::size_t i = 1; i < parts.size(); ++i)
    value = result(parts[i].first, value, computed(parts[i].second, values));
  return value;
}

Tokens spec_tokens(std::string text) {
  RE2::GlobalReplace(&text, "//", "/");  // a division, and no comment
  return tokens_of(text);
}

bool is_function(const std::string& word) { return RE2::FullMatch(word, "min|max|ceildiv"); }

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (const Token& token : spec_tokens(text))
    if (token.is_word() && !is_function(token.text)) names.push_back(token.text);
  return names;
}

std::optional<std::string> SpecExpressions::operand(const std::string& name, int depth) const {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  Tokens value;
  if (const auto stands_for = expressions_->find(name); stands_for != expressions_->end())
    value = stands_for->second;
  else if (RE2::FullMatch(name, "\\w+\\.[xyz]"))
    if (auto extents = extents_of(tokens_of(name.substr(0, name.size() - 2)), *expressions_); !extents.empty())
      value = std::move(extents[static_cast<std::size_t>(name.back() - 'x')]);
  auto text = depth > 8 ? std::nullopt : text_of(value, depth + 1);
  const bool is_read = text && text->find_first_of(".>") == std::string::npos;
  return is_read || !formulas_ ? text : name;
}

/// (n + b - 1) / b is ceildiv(n, b).
std::optional<std::string> SpecExpressions::rounded_up(const Tokens& tokens, int depth) const {
  const auto parts = operands(tokens, "[*/%]");
  if (parts.size() != 2 || parts.back().first != "/" || operands(tokens, "[-+]").size() > 1) return std::nullopt;
  const auto divisor = text_of(parts.back().second, depth);
  if (!divisor) return std::nullopt;
  const auto number = integer_of(*divisor);
  bool added = false;
  std::int64_t offset = 0;
  std::vector<std::string> rest;
  for (const auto& [sign, term] : terms_of(parts.front().second)) {
    const auto text = text_of(term, depth);
    if (!text) return std::nullopt;
    const auto value = integer_of(*text);
    if (value)
      offset += sign == "-" ? -*value : *value;
    else if (sign == "-")
      return std::nullopt;
    else if (!added && *text == *divisor)
      added = true;
    else
      rest.push_back(*text);
  }
  const bool up = number ? offset == *number - 1 && *number > 1 : added && offset == -1;
  if (rest.empty() || !up) return std::nullopt;
  return fmt::format("ceildiv({}, {})", fmt::join(rest, " + "), *divisor);
}

std::optional<std::string> SpecExpressions::call(const std::string& name, const Tokens& inside, int depth) const {
  const std::vector<Tokens> arguments = split_arguments(inside);
  if (const auto known = formulas_->find(name); known != formulas_->end()) {
    const auto& [parameters, body] = known->second;
    if (arguments.size() != parameters.size() || depth > 8) return std::nullopt;
    Tokens replaced;
    for (const Token& token : simplified(body, false)) {
      const auto at = std::ranges::find(parameters, token.text);
      if (at == parameters.end()) {
        replaced.push_back(token);
        continue;
      }
      const Tokens& argument = arguments[static_cast<std::size_t>(at - parameters.begin())];
      replaced.push_back({Token::Kind::mark, "("});
      replaced.insert(replaced.end(), argument.begin(), argument.end());
      replaced.push_back({Token::Kind::mark, ")"});
    }
    return text_of(replaced, depth + 1);
  }
  if (name == "ceil" || name == "ceilf") {
    // n / 128 of integers is rounded down before.
    Tokens numbers = simplified(unwrapped(inside), false, true);
    bool is_real = numbers.size() < unwrapped(inside).size();
    for (Token& token : numbers)
      is_real = RE2::FullMatch(token.text, "(\\d+)(?:\\.0*[fF]?|[fF])", &token.text) || is_real;
    const auto parts = operands(unwrapped(numbers), "[*/%]");
    if (!is_real) return std::nullopt;
    const auto above = text_of(parts.front().second, depth), below = text_of(parts.back().second, depth);
    if (parts.size() != 2 || parts.back().first != "/" || !above || !below) return std::nullopt;
    return fmt::format("ceildiv({}, {})", *above, *below);
  }
  std::vector<std::string> texts;
  for (const Tokens& argument : arguments)
    if (const auto text = text_of(argument, depth)) texts.push_back(*text);
  if ((name != "min" && name != "max") || texts.size() != arguments.size()) return std::nullopt;
  return fmt::format("{}({})", name, fmt::join(texts, ", "));
}

std::optional<std::string> SpecExpressions::text_of(const Tokens& tokens, int depth) const {
  constexpr std::size_t longest = 500;  // characters; a longer expression is of no help
  if (tokens.empty()) return std::nullopt;
  if (tokens.front().is("(") && closing(tokens, 0) + 1 == tokens.size())
    return text_of(part(tokens, 1, tokens.size() - 1), depth);
  if (formulas_)
    if (auto text = rounded_up(tokens, depth)) return text;
  std::string text;
  int open = 0;
  bool is_complete = false;  // an operator has to follow
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (is_complete && (token.kind != Token::Kind::mark || token.is("("))) return std::nullopt;
    is_complete = token.kind != Token::Kind::mark || token.is(")");
    std::optional<std::string> part_text;
    open += token.is("(") - token.is(")");
    if (token.kind == Token::Kind::number) {
      if (const auto value = integer_of(token.text)) part_text = std::to_string(*value);
    } else if (formulas_ && token.is("std") && is_at(tokens, i + 1, "::")) {
      ++i;
      is_complete = false;
      continue;
    } else if (const std::size_t end = i + 1 < tokens.size() ? closing(tokens, i + 1) : tokens.size();
               formulas_ && token.is_word() && is_at(tokens, i + 1, "(") && end < tokens.size()) {
      part_text = call(token.text, part(tokens, i + 2, end), depth);
      i = end;
    } else if (token.is_word()) {
      part_text = operand(token.text, depth);
      if (part_text && tokens.size() > 1 && RE2::FullMatch(*part_text, ".*[^,] .*")) part_text = "(" + *part_text + ")";
    } else if (RE2::FullMatch(token.text, "[-+*%]|<<")) {
      part_text = " " + token.text + " ";
    } else if (token.is("/")) {
      part_text = " // ";  // an integer division
    } else if (token.is("(") || token.is(")")) {
      part_text = token.text;
    }
    if (!part_text || open < 0 || text.size() > longest) return std::nullopt;
    text += *part_text;
  }
  // A shift by a size is of any length.
  if (open != 0 || RE2::PartialMatch(text, "<<.*[A-Za-z]|[A-Za-z].*<<")) return std::nullopt;
  const auto number = computed(spec_tokens(text));
  return number && *number >= 0 && *number < 2147483648.0 ? fmt::format("{:.0f}", *number) : text;
}

}  // namespace xtune::init
