// Parses and evaluates the texts of a spec.
#include "core/spec/template_text.hpp"

#include <cmath>

#include "core/space/value.hpp"

namespace xtune::spec {

namespace {

[[noreturn]] void fail(const Text& text, std::size_t column, const std::string& message) {
  throw TextError(text, locate(text, column), message);
}

space::Expression parse(const Text& text) {
  try {
    return parse_expression(text);
  } catch (const space::ExpressionError& error) {
    fail(text, error.column, error.what());
  }
}

Value value_of(const CompiledText::Part& part, const space::Lookup& lookup) {
  try {
    return part.expression.front().evaluate(lookup);
  } catch (const space::ExpressionError& error) {
    fail(part.text, error.column, error.what());
  }
}

}  // namespace

space::Expression parse_expression(const Text& text) { return space::Expression::parse(text.text, text.derived.get()); }

std::size_t closing_brace(const Text& text, std::size_t start) {
  char quote = 0;
  for (std::size_t i = start; i < text.text.size(); ++i) {
    const char c = text.text[i];
    if (quote != 0 && c == '\\')
      ++i;
    else if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '}')
      return i;
  }
  fail(text, start - 1, "'{' is not closed (a plain brace is written '{{')");
}

Location locate(const Text& text, std::size_t column) {
  Location at = text.at;
  for (std::size_t i = 0; i < column && i < text.text.size(); ++i) {
    const char c = text.text[i];
    if (text.escaped && std::string_view("\n\r\t\"\\").find(c) != std::string_view::npos) {
      at.column += 2;
    } else if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if ((c & 0xC0) != 0x80) {
      ++at.column;
    }
  }
  return at.line == 0 || text.at.line == 0 ? text.at : at;
}

CompiledText CompiledText::expression(const Text& text) {
  CompiledText compiled;
  compiled.source_ = text;
  compiled.parts_.push_back({{}, text, {parse(text)}});
  return compiled;
}

CompiledText CompiledText::template_text(const Text& text) {
  CompiledText compiled;
  compiled.source_ = text;
  std::string plain;
  const std::string& source = text.text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    const bool doubled = i + 1 < source.size() && source[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      plain += c;
      ++i;
    } else if (c == '}') {
      fail(text, i, "'}' without '{' (a plain brace is written '}}')");
    } else if (c == '{') {
      const std::size_t end = closing_brace(text, i + 1);
      const Text inner{source.substr(i + 1, end - i - 1), locate(text, i + 1), text.escaped, text.derived};
      compiled.parts_.push_back({std::move(plain), inner, {parse(inner)}});
      plain.clear();
      i = end;
    } else {
      plain += c;
    }
  }
  if (!plain.empty()) compiled.parts_.push_back({std::move(plain), text, {}});
  return compiled;
}

std::set<std::string, std::less<>> CompiledText::names() const {
  std::set<std::string, std::less<>> names;
  for (const Part& part : parts_)
    for (const space::Expression& expression : part.expression)
      names.insert(expression.names().begin(), expression.names().end());
  return names;
}

Value CompiledText::evaluate(const space::Lookup& lookup) const { return value_of(parts_.front(), lookup); }

std::int64_t CompiledText::evaluate_integer(const space::Lookup& lookup) const {
  const Value value = evaluate(lookup);
  if (const auto integer = space::integer_of(value)) return *integer;
  fail(source_, 0, "expected an integer, got the " + std::string(space::type_name(value)) + " " + to_text(value));
}

std::string CompiledText::expand(const space::Lookup& lookup) const {
  std::string result;
  for (const Part& part : parts_) {
    result += part.before;
    if (!part.expression.empty()) result += space::to_define(value_of(part, lookup));
  }
  return result;
}

std::set<std::string, std::less<>> names_in(const LaunchSpec& launch) {
  std::set<std::string, std::less<>> names;
  for (const std::vector<Text>* sizes : {&launch.grid, &launch.block, &launch.cluster})
    for (const Text& size : *sizes) names.merge(CompiledText::expression(size).names());
  if (launch.shared) names.merge(CompiledText::expression(*launch.shared).names());
  return names;
}

std::set<std::string, std::less<>> names_in(const ArgSpec& argument) {
  std::set<std::string, std::less<>> names;
  const auto add = [&](const Text& text) { names.merge(CompiledText::expression(text).names()); };
  if (argument.value) add(*argument.value);
  for (const Text& text : argument.shape) add(text);
  if (!argument.map) return names;
  const TensorMapSpec& map = *argument.map;
  for (const auto* texts : {&map.box, &map.shape, &map.strides, &map.element_strides})
    for (const Text& text : *texts) add(text);
  for (const auto* text : {&map.swizzle, &map.l2_promotion, &map.interleave})
    if (*text) add(**text);
  return names;
}

Value evaluate(const Text& expression, const space::Lookup& lookup) {
  return CompiledText::expression(expression).evaluate(lookup);
}

std::int64_t evaluate_integer(const Text& expression, const space::Lookup& lookup) {
  return CompiledText::expression(expression).evaluate_integer(lookup);
}

std::string expand(const Text& template_text, const space::Lookup& lookup) {
  return CompiledText::template_text(template_text).expand(lookup);
}

space::Lookup lookup_names(const Bindings& problem, const Bindings& device_facts,
                           const std::vector<space::Parameter>& parameters, const space::Config* config) {
  // A default argument's temporary would not outlive the returned function.
  const std::vector<space::Parameter>* const named = config == nullptr ? nullptr : &parameters;
  return [&problem, &device_facts, named, config](std::string_view name) -> const Value* {
    if (named != nullptr)
      for (std::size_t i = 0; i < named->size() && i < config->size(); ++i)
        if ((*named)[i].name == name) return &(*config)[i];
    const Value* const size = space::find_value(problem, name);
    return size ? size : space::find_value(device_facts, name);
  };
}

}  // namespace xtune::spec
