// No condition is evaluated: a name that any branch defines is defined.
#include "core/outline/macros.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace xtune::outline {

namespace {

using Words = std::set<std::string, std::less<>>;

bool is_macro_like(std::string_view word) {
  return !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0 &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isupper(c) || std::isdigit(c) || c == '_'; });
}

/// Names that the C library, the compilers or well-known headers define.
bool is_foreign(std::string_view word) {
  static constexpr std::array names{"NULL", "NAN", "INFINITY", "HUGE_VAL", "EOF", "NDEBUG", "RAND_MAX", "BUFSIZ"};
  static constexpr std::array prefixes{
      "FLT_",    "DBL_",     "LDBL_", "INT_",   "UINT_",  "INT8_",   "INT16_",  "INT32_", "INT64_", "UINT8_", "UINT16_",
      "UINT32_", "UINT64_",  "LONG_", "ULONG_", "LLONG_", "ULLONG_", "SHRT_",   "USHRT_", "CHAR_",  "SCHAR_", "UCHAR_",
      "SIZE_",   "PTRDIFF_", "M_",    "CUDA",   "HIP",    "CUB_",    "THRUST_", "EXIT_",  "NV_"};
  return std::find(names.begin(), names.end(), word) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return word.starts_with(prefix); });
}

/// Words behind which a value stands, and no name that is declared.
bool precedes_value(std::string_view word) {
  static constexpr std::array words{"return", "case", "else",      "throw", "and",
                                    "or",     "not",  "co_return", "new",   "unroll"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

class NameReader {
 public:
  NameReader(const TokenizedSource& source, const std::vector<TokenizedSource>& headers, const TypeNames& types,
             const std::vector<KernelFunction>& kernels)
      : source_(source), types_(types) {
    for (const TokenizedSource& header : headers) {
      declare(header.tokens);
      define(header.directives, false);
    }
    for (const KernelFunction& kernel : kernels) {
      for (const FunctionArgument& argument : kernel.arguments) declared_.insert(argument.name);
      for (const TemplateParameter& parameter : kernel.templates) declared_.insert(parameter.name);
    }
    declare(source.tokens);
    define(source.directives, true);
  }

  SourceNames run() {
    for (const Token& token : source_.tokens)
      if (token.is_word()) found_.words.insert(token.text);
    use_tokens(source_.tokens, false);
    for (const Directive& directive : source_.directives) {
      const std::string& name = directive.name;
      const Tokens tokens = tokens_of(directive.text);
      if (name == "if" || name == "elif") use_tokens(tokens, true, directive.line);
      if (name == "pragma") use_tokens(tokens, false, directive.line);
      if (name == "define" && tokens.size() > 1)
        use_tokens(Tokens(tokens.begin() + 1, tokens.end()), false, directive.line);
      for (const Token& token : tokens)
        if (token.is_word()) found_.words.insert(token.text);
    }
    std::erase_if(found_.macros, [&](const OpenMacro& macro) { return !used_.contains(macro.name); });
    for (OpenMacro& macro : found_.macros) macro.is_condition = !valued_.contains(macro.name);
    std::stable_sort(found_.macros.begin(), found_.macros.end(),
                     [](const OpenMacro& a, const OpenMacro& b) { return a.line < b.line; });
    return std::move(found_);
  }

 private:
  void define(const std::vector<Directive>& directives, bool own) {
    for (const Directive& directive : directives) {
      if (directive.name != "define") continue;
      const Tokens tokens = tokens_of(directive.text);
      if (tokens.empty()) continue;
      const std::string& name = tokens.front().text;
      // NAME( is a macro with arguments, NAME (x) is none.
      const bool called = directive.text.size() > name.size() && directive.text[name.size()] == '(';
      const Tokens body(tokens.begin() + 1, tokens.end());
      const bool first = defined_.insert(name).second;
      if (called || body.empty()) continue;
      if (first) found_.expressions[name] = body;
      const bool number = body.size() == 1 && body.front().kind == Token::Kind::number;
      if (!own || !first || !number) continue;
      const bool guarded = directive.guard == "ifndef " + name || directive.guard == "if !defined(" + name + ")" ||
                           directive.guard == "if !defined " + name ||
                           directive.guard == "if not defined(" + name + ")";
      if (!guarded && directive.conditional) continue;
      found_.macros.push_back({name, guarded ? OpenMacro::Kind::defaulted : OpenMacro::Kind::fixed, body.front().text,
                               directive.line, false});
    }
  }

  /// constexpr int NAME = 4; and every other place where a name is introduced.
  void declare(const Tokens& tokens) {
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (!tokens[i].is_word()) continue;
      const Token& before = tokens[i - 1];
      const auto next_is = [&](std::string_view text) { return i + 1 < tokens.size() && tokens[i + 1].is(text); };
      const bool listed = before.is(",") && next_is("=");
      const bool pointer =
          (before.is("*") || before.is("&")) && i > 1 && tokens[i - 2].is_word() &&
          (types_.element_type(tokens[i - 2].text) || tokens[i - 2].is("const") || tokens[i - 2].is("void"));
      if ((before.is_word() && !precedes_value(before.text)) || listed || pointer) declared_.insert(tokens[i].text);
      if ((before.is_word() || listed) && next_is("=") && !precedes_value(before.text)) remember_constant(tokens, i);
    }
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i].is("enum")) declare_enumerators(tokens, i);
  }

  void remember_constant(const Tokens& tokens, std::size_t name) {
    bool constant = false;
    for (std::size_t i = name; i-- > 0 && !tokens[i].is(";") && !tokens[i].is("{") && !tokens[i].is("}");)
      constant = constant || tokens[i].is("constexpr") || tokens[i].is("const");
    if (!constant) return;
    Tokens value;
    int depth = 0;
    for (std::size_t i = name + 2; i < tokens.size() && !tokens[i].is(";"); ++i) {
      depth += tokens[i].is("(") - tokens[i].is(")");
      if (depth < 0 || (depth == 0 && tokens[i].is(","))) break;
      value.push_back(tokens[i]);
    }
    found_.expressions.try_emplace(tokens[name].text, value);
  }

  void declare_enumerators(const Tokens& tokens, std::size_t at) {
    while (at < tokens.size() && !tokens[at].is("{") && !tokens[at].is(";")) ++at;
    if (at >= tokens.size() || tokens[at].is(";")) return;
    const std::size_t end = closing(tokens, at);
    for (const Tokens& each : split_arguments(Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                                     tokens.begin() + static_cast<std::ptrdiff_t>(end))))
      if (!each.empty()) declared_.insert(each.front().text);
  }

  /// Notes each open name. conditions: the tokens are of #if.
  void use_tokens(const Tokens& tokens, bool conditions, std::size_t line = 0) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (!token.is_word() || !is_macro_like(token.text) || is_foreign(token.text)) continue;
      const auto before_is = [&](std::string_view text) { return i > 0 && tokens[i - 1].is(text); };
      const auto next_is = [&](std::string_view text) { return i + 1 < tokens.size() && tokens[i + 1].is(text); };
      if (before_is("::") || before_is(".") || before_is("->") || before_is("defined") || next_is("::")) continue;
      if (conditions && i > 1 && before_is("(") && tokens[i - 2].is("defined")) continue;
      const bool known = defined_.contains(token.text);
      if (!known && (next_is("(") || declared_.contains(token.text))) continue;
      used_.insert(token.text);
      // if constexpr (NAME), NAME ? a : b, !NAME, NAME && a
      const bool in_if =
          before_is("(") && i > 1 && next_is(")") && (tokens[i - 2].is("if") || tokens[i - 2].is("constexpr"));
      const bool logic = before_is("!") || before_is("&&") || before_is("||") || next_is("&&") || next_is("||");
      const bool choice = conditions || in_if || logic || next_is("?");
      if (!choice) valued_.insert(token.text);
      if (!known && listed_.insert(token.text).second)
        found_.macros.push_back({token.text, OpenMacro::Kind::undefined, "", line > 0 ? line : token.line, false});
    }
  }

  const TokenizedSource& source_;
  const TypeNames& types_;
  Words defined_, declared_, used_, valued_, listed_;
  SourceNames found_;
};

bool is_qualifier(const Token& token) {
  for (const char* word : {"static", "extern", "volatile", "__device__", "__restrict__"})
    if (token.is(word)) return true;
  return false;
}

std::vector<ConstantVariable> constant_variables(const Tokens& tokens) {
  std::vector<ConstantVariable> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("__constant__")) continue;
    Tokens words;
    for (++i; i < tokens.size() && (tokens[i].is_word() || tokens[i].is("::")); ++i)
      if (!is_qualifier(tokens[i])) words.push_back(tokens[i]);
    if (words.size() < 2) continue;
    ConstantVariable variable;
    variable.name = words.back().text;
    variable.line = words.back().line;
    words.pop_back();
    variable.type = text_of(words);
    for (; i < tokens.size() && tokens[i].is("["); ++i) {
      const std::size_t end = closing(tokens, i);
      if (end >= tokens.size()) return found;
      variable.extents.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    tokens.begin() + static_cast<std::ptrdiff_t>(end));
      i = end;
    }
    if (i < tokens.size() && tokens[i].is(";")) found.push_back(std::move(variable));
  }
  return found;
}

}  // namespace

SourceNames source_names(const TokenizedSource& source, const std::vector<TokenizedSource>& headers,
                         const TypeNames& types, const std::vector<KernelFunction>& kernels) {
  SourceNames names = NameReader(source, headers, types, kernels).run();
  names.constants = constant_variables(source.tokens);
  return names;
}

}  // namespace xtune::outline
