// A walk over the tokens that knows scopes and templates, and nothing else of C++.
#include "core/outline/kernel_function.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"

namespace xtune::outline {

namespace {

template <std::size_t count>
bool is_one_of(const Token& token, const std::array<std::string_view, count>& words) {
  return std::find(words.begin(), words.end(), token.text) != words.end();
}

constexpr std::array<std::string_view, 12> type_words{"int",   "unsigned", "signed", "long", "short", "char",
                                                      "float", "double",   "bool",   "void", "auto",  "half"};
constexpr std::array<std::string_view, 10> qualifiers{
    "const",  "volatile", "__restrict__", "__restrict",        "restrict",
    "struct", "class",    "typename",     "__grid_constant__", "enum"};

/// tokens[begin, end)
Tokens part(const Tokens& tokens, std::size_t begin, std::size_t end) {
  end = std::min(end, tokens.size());
  if (begin >= end) return {};
  return {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// What stands before and behind a "=" outside of brackets.
std::pair<Tokens, Tokens> split_default(const Tokens& tokens) {
  int depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{" || text == "<") ++depth;
    if (text == ")" || text == "]" || text == "}" || text == ">") --depth;
    if (depth == 0 && text == "=") return {part(tokens, 0, i), part(tokens, i + 1, tokens.size())};
  }
  return {tokens, {}};
}

/// [[...]] and __align__(8) and the like.
Tokens without_attributes(const Tokens& tokens) {
  Tokens rest;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool brackets = tokens[i].is("[") && i + 1 < tokens.size() && tokens[i + 1].is("[");
    const bool call = i + 1 < tokens.size() && tokens[i + 1].is("(") &&
                      (tokens[i].is("__align__") || tokens[i].is("__attribute__") || tokens[i].is("alignas"));
    if (brackets || call)
      i = closing(tokens, i + (call ? 1 : 0));
    else
      rest.push_back(tokens[i]);
  }
  return rest;
}

FunctionArgument argument_of(const Tokens& written) {
  FunctionArgument argument;
  Tokens tokens = without_attributes(split_default(written).first);
  // float x[16] is a pointer.
  while (!tokens.empty() && tokens.back().is("]")) {
    while (!tokens.empty() && !tokens.back().is("[")) tokens.pop_back();
    if (!tokens.empty()) tokens.pop_back();
    argument.pointers = 1;
  }
  Tokens type;
  bool pointer_seen = false;
  int angles = 0;
  for (const Token& token : tokens) {
    if (token.is("<")) ++angles;
    if (token.is(">")) --angles;
    if (angles == 0 && (token.is("*") || token.is("&") || token.is("&&"))) {
      pointer_seen = pointer_seen || token.is("*");
      argument.pointers += token.is("*");
      argument.is_reference = argument.is_reference || !token.is("*");
    } else if (is_one_of(token, qualifiers)) {
      if (token.is("const") && !pointer_seen) argument.is_const = true;
    } else if (pointer_seen || argument.is_reference) {
      argument.name = token.text;
    } else {
      type.push_back(token);
    }
  }
  const bool named = argument.name.empty() && type.size() > 1 && type.back().is_word() &&
                     !is_one_of(type.back(), type_words) && !type[type.size() - 2].is("::");
  if (named) {
    argument.name = type.back().text;
    type.pop_back();
  }
  argument.type = text_of(type);
  return argument;
}

TemplateParameter template_parameter(const Tokens& written) {
  const auto [declared, default_value] = split_default(written);
  TemplateParameter parameter;
  parameter.default_value = text_of(default_value);
  Tokens type;
  for (const Token& token : declared)
    if (token.is("."))
      parameter.is_pack = true;
    else if (!token.is("const"))
      type.push_back(token);
  if (type.empty()) return parameter;
  if (type.front().is("typename") || type.front().is("class")) {
    parameter.type = "typename";
    if (type.size() > 1) parameter.name = type.back().text;
    return parameter;
  }
  if (type.size() > 1 && type.back().is_word() && !is_one_of(type.back(), type_words)) {
    parameter.name = type.back().text;
    type.pop_back();
  }
  parameter.type = text_of(type);
  return parameter;
}

/// "__launch_bounds__", "LAUNCH_BOUNDS"
bool is_launch_bounds(const std::string& word) {
  std::string plain;
  for (const char c : base::lower_case(word))
    if (c != '_') plain += c;
  return plain == "launchbounds";
}

class KernelReader {
 public:
  explicit KernelReader(const Tokens& tokens) {
    // Of #if and #else one branch: both may open the same brace.
    std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(tokens_),
                 [](const Token& token) { return !token.alternative; });
  }

  std::vector<KernelFunction> run() {
    for (std::size_t i = 0; i < tokens_.size();) i = step(i);
    return std::move(found_);
  }

 private:
  bool at(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }

  std::size_t step(std::size_t i) {
    const Token& token = tokens_[i];
    if (token.is("template") && at(i + 1, "<")) {
      const std::size_t end = closing(tokens_, i + 1);
      template_ = part(tokens_, i + 2, end);
      templated_ = true;
      return end >= tokens_.size() ? i + 1 : end + 1;
    }
    if (token.is("template")) instantiated_ = true;
    if (token.is("namespace")) return enter_namespace(i + 1);
    if (token.is("__global__")) return function(i + 1);
    if (token.is("{")) scopes_.emplace_back();
    if (token.is("}") && !scopes_.empty()) scopes_.pop_back();
    if (token.is(";") || token.is("{") || token.is("}")) templated_ = instantiated_ = false;
    return i + 1;
  }

  std::size_t enter_namespace(std::size_t i) {
    std::string name;
    for (; i < tokens_.size() && (tokens_[i].is_word() || tokens_[i].is("::")); ++i)
      if (!tokens_[i].is("inline")) name += tokens_[i].text;
    if (!at(i, "{")) return i;
    scopes_.push_back(name);
    return i + 1;
  }

  /// Behind __global__; returns where to go on.
  std::size_t function(std::size_t i) {
    KernelFunction kernel;
    const bool counts = !instantiated_ && (!templated_ || !template_.empty());
    for (; i < tokens_.size() && !at(i, ";") && !at(i, "{") && !at(i, "}"); ++i) {
      if (at(i, "[") || at(i, "<")) {
        const std::size_t end = closing(tokens_, i);
        if (end < tokens_.size()) i = end;
        continue;
      }
      if (!at(i, "(")) continue;
      const std::size_t end = closing(tokens_, i);
      if (end >= tokens_.size()) return i + 1;
      const Tokens inside = part(tokens_, i + 1, end);
      if (i > 0 && is_launch_bounds(tokens_[i - 1].text))
        kernel.launch_bounds = split_arguments(inside);
      else if (i > 0 && tokens_[i - 1].is_word() && at(end + 1, "{"))
        return add(std::move(kernel), i - 1, inside, end + 1, counts);
      i = end;
    }
    templated_ = instantiated_ = false;
    return i;
  }

  std::size_t add(KernelFunction kernel, std::size_t name, const Tokens& arguments, std::size_t open, bool counts) {
    const std::size_t end = closing(tokens_, open);
    kernel.name = tokens_[name].text;
    kernel.line = tokens_[name].line;
    for (const std::string& scope : scopes_)
      if (!scope.empty()) kernel.qualified += scope + "::";
    kernel.qualified += kernel.name;
    kernel.body = part(tokens_, open + 1, end);
    if (templated_)
      for (const Tokens& each : split_arguments(template_)) kernel.templates.push_back(template_parameter(each));
    for (const Tokens& each : split_arguments(arguments))
      if (!(each.size() == 1 && each.front().is("void"))) kernel.arguments.push_back(argument_of(each));
    const bool known = std::any_of(found_.begin(), found_.end(),
                                   [&](const KernelFunction& other) { return other.qualified == kernel.qualified; });
    if (counts && !known) found_.push_back(std::move(kernel));
    templated_ = instantiated_ = false;
    return end >= tokens_.size() ? tokens_.size() : end + 1;
  }

  Tokens tokens_, template_;
  bool templated_ = false, instantiated_ = false;
  std::vector<std::string> scopes_;  ///< the braces that are open, and the name of each that is a namespace
  std::vector<KernelFunction> found_;
};

}  // namespace

std::vector<KernelFunction> kernel_functions(const Tokens& tokens) { return KernelReader(tokens).run(); }

}  // namespace xtune::outline
