// No condition is evaluated: a name that any branch defines is defined.
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

#include "core/init/expressions.hpp"

namespace xtune::init {

namespace {

/// Names that the C library, the compilers or well-known headers define.
bool is_foreign(const std::string& word) {
  static const RE2 known(
      "warpSize|NULL|NAN|INFINITY|HUGE_VAL|EOF|NDEBUG|RAND_MAX|BUFSIZ|(?:CUDA|HIP).*|"
      "(?:L?DBL|FLT|U?INT(?:8|16|32|64)?|U?L?LONG|U?SHRT|[SU]?CHAR|SIZE|PTRDIFF|M|CUB|THRUST|EXIT|NV)_.*");
  return RE2::FullMatch(word, known);
}

/// Words behind which a value stands, and no name that is declared.
bool precedes_value(const std::string& word) {
  static const RE2 known("return|case|else|throw|and|or|not|co_return|new|unroll");
  return RE2::FullMatch(word, known);
}

/// Whether only a constant can be at i: an extent of an array, or what multiplies blockIdx, as a rule. A pragma has
/// one behind its own words.
bool is_constant_at(const Tokens& tokens, std::size_t i, bool in_pragma) {
  const auto is = [&](std::size_t at, const char* text) { return is_at(tokens, at, text); };
  if (in_pragma) return is(i - 1, "unroll") || (is(i - 1, "(") && is(i - 2, "unroll"));
  const bool extent = is(i - 1, "[") && i > 2 && tokens[i - 2].is_word() && tokens[i - 3].is_word();
  return (extent && !precedes_value(tokens[i - 3].text)) || (is(i - 1, "*") && is(i - 4, "blockIdx")) ||
         (is(i + 1, "*") && is(i + 2, "blockIdx"));
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
    found_.words = identifiers_of(source_);
    use_tokens(device_code(source_.tokens), false);
    for (const Directive& directive : source_.directives) {
      const std::string& name = directive.name;
      const Tokens tokens = tokens_of(directive.text);
      if (name == "if" || name == "elif") use_tokens(tokens, true, directive.line);
      if (name == "pragma") use_tokens(tokens, false, directive.line);
      // Macros that device code calls, not those of host code.
      if (name == "define" && tokens.size() > 1 && called_.contains(tokens.front().text)) {
        const bool has_arguments = directive.text.substr(tokens.front().text.size(), 1) == "(";
        const std::size_t end = has_arguments ? closing(tokens, 1) : 1;
        const Tokens arguments = part(tokens, 1, end);
        Tokens body = part(tokens, end, tokens.size());
        std::erase_if(body, [&](const Token& each) { return each.is_word() && mentions(arguments, each.text); });
        use_tokens(body, false, directive.line);
      }
    }
    std::erase_if(found_.macros, [&](const OpenMacro& macro) { return !used_.contains(macro.name); });
    for (OpenMacro& macro : found_.macros) macro.is_condition = !valued_.contains(macro.name);
    std::stable_sort(found_.macros.begin(), found_.macros.end(),
                     [](const OpenMacro& a, const OpenMacro& b) { return a.line < b.line; });
    return std::move(found_);
  }

 private:
  /// Functions and variables of the device, and constants, which they may use.
  Tokens device_code(const Tokens& tokens) {
    Tokens code;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!RE2::FullMatch(tokens[i].text, "__(?:global|device|constant)__|constexpr|using")) continue;
      for (; i < tokens.size() && !tokens[i].is(";"); ++i) {
        const std::size_t end = tokens[i].is("{") ? std::min(closing(tokens, i), tokens.size() - 1) : i;
        code.insert(code.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                    tokens.begin() + static_cast<std::ptrdiff_t>(end) + 1);
        i = end;
        if (tokens[i].is("}")) break;
      }
    }
    for (const Token& token : code) called_.insert(token.text);
    return code;
  }

  void define(const std::vector<Directive>& directives, bool own) {
    for (const Directive& directive : directives) {
      if (directive.name != "define") continue;
      const Tokens tokens = tokens_of(directive.text);
      if (tokens.empty()) continue;
      const std::string& name = tokens.front().text;
      // NAME( is a macro with arguments, NAME (x) is none.
      const bool called = directive.text.size() > name.size() && directive.text[name.size()] == '(';
      const Tokens body = part(tokens, 1, tokens.size());
      const bool first = defined_.insert(name).second;
      if (called || body.empty()) continue;
      // Of two bodies, neither counts.
      if (const auto [known, is_new] = found_.expressions.try_emplace(name, first ? body : Tokens());
          !is_new && text_of(known->second) != text_of(body))
        known->second.clear();
      const Tokens bare = body.size() == 3 && body.front().is("(") ? part(body, 1, 2) : body;
      const bool number = bare.size() == 1 && bare.front().kind == Token::Kind::number;
      if (!own || !first || !number) continue;
      std::string asked;
      const bool guarded =
          RE2::FullMatch(directive.guard, R"((?:ifndef|if (?:!|not ) *defined) *\(? *(\w+) *\)?)", &asked) &&
          asked == name;
      if (!guarded && directive.conditional) continue;
      found_.macros.push_back({name, guarded ? OpenMacro::Kind::defaulted : OpenMacro::Kind::fixed, bare.front().text,
                               directive.line, false});
    }
  }

  /// constexpr int NAME = 4; and every other place where a name is introduced.
  void declare(const Tokens& tokens) {
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (!tokens[i].is_word()) continue;
      const Token& before = tokens[i - 1];
      const bool set = is_at(tokens, i + 1, "="), listed = before.is(",") && set;
      const bool pointer = (before.is("*") || before.is("&")) && i > 1 && tokens[i - 2].is_word() &&
                           (set || types_.element_type(tokens[i - 2].text) || tokens[i - 2].is("const") ||
                            tokens[i - 2].is("void") || (i > 2 && RE2::FullMatch(tokens[i - 3].text, "[;{}]")));
      if ((before.is_word() && !precedes_value(before.text)) || listed || pointer) declare_list(tokens, i);
      if ((before.is_word() || listed) && set && !precedes_value(before.text)) remember_constant(tokens, i);
    }
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i].is("enum")) declare_enumerators(tokens, i);
  }

  /// The name at i, and those that follow it in int a = 1, *b, c;
  void declare_list(const Tokens& tokens, std::size_t i) {
    declared_.insert(tokens[i].text);
    int depth = 0;
    for (; i < tokens.size() && depth >= 0 && !tokens[i].is(";"); ++i) {
      depth += RE2::FullMatch(tokens[i].text, "[({\\[]") - RE2::FullMatch(tokens[i].text, "[)}\\]]");
      const std::size_t name = i + 1 + is_at(tokens, i + 1, "*");
      if (depth == 0 && tokens[i].is(",") && name < tokens.size()) declared_.insert(tokens[name].text);
    }
  }

  void remember_constant(const Tokens& tokens, std::size_t name) {
    bool constant = false;
    for (std::size_t i = name; i-- > 0 && !tokens[i].is(";") && !tokens[i].is("{") && !tokens[i].is("}");)
      constant = constant || tokens[i].is("constexpr") || tokens[i].is("const");
    if (constant) found_.expressions.try_emplace(tokens[name].text, expression_at(tokens, name + 2));
  }

  void declare_enumerators(const Tokens& tokens, std::size_t at) {
    while (at < tokens.size() && !tokens[at].is("{") && !tokens[at].is(";")) ++at;
    if (at >= tokens.size() || tokens[at].is(";")) return;
    const std::size_t end = closing(tokens, at);
    for (const Tokens& each : split_arguments(part(tokens, at + 1, end)))
      if (!each.empty()) declared_.insert(each.front().text);
  }

  /// Notes each open name. conditions: the tokens are of #if.
  void use_tokens(const Tokens& tokens, bool conditions, std::size_t line = 0) {
    static const RE2 capitals("[A-Z][A-Z0-9_]*");
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      const bool known = defined_.contains(token.text);
      if (!token.is_word() || is_foreign(token.text)) continue;
      if (!known && !RE2::FullMatch(token.text, capitals) && !is_constant_at(tokens, i, line > 0 && !conditions))
        continue;
      const auto before_is = [&](std::string_view text) { return i > 0 && tokens[i - 1].is(text); };
      const auto next_is = [&](std::string_view text) { return is_at(tokens, i + 1, text); };
      if (before_is("::") || before_is(".") || before_is("->") || before_is("defined") || next_is("::")) continue;
      if (!known && next_is(".")) continue;
      if (conditions && i > 1 && before_is("(") && tokens[i - 2].is("defined")) continue;
      if (!known && (next_is("(") || declared_.contains(token.text))) continue;
      used_.insert(token.text);
      // if constexpr (NAME), NAME ? a : b, !NAME, NAME && a
      const bool in_if =
          before_is("(") && i > 1 && next_is(")") && (tokens[i - 2].is("if") || tokens[i - 2].is("constexpr"));
      const bool logic = before_is("!") || before_is("&&") || before_is("||") || next_is("&&") || next_is("||");
      const bool compared = i + 2 < tokens.size() && RE2::FullMatch(tokens[i + 1].text, "[=!]=|[<>]=?") &&
                            integer_of(tokens[i + 2].text).value_or(0) > 1;
      const bool choice = !compared && (conditions || in_if || logic || next_is("?"));
      if (!choice) valued_.insert(token.text);
      if (!known && listed_.insert(token.text).second)
        found_.macros.push_back({token.text, OpenMacro::Kind::undefined, "", line > 0 ? line : token.line, false});
    }
  }

  const TokenizedSource& source_;
  const TypeNames& types_;
  std::set<std::string> defined_, declared_, used_, valued_, listed_, called_;
  SourceNames found_;
};

std::vector<ConstantVariable> constant_variables(const Tokens& tokens) {
  static const RE2 qualifier("static|extern|volatile|__device__|__restrict__");
  std::vector<ConstantVariable> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Tokens declared = tokens[i].is("__constant__") ? expression_at(tokens, i + 1) : Tokens();
    std::erase_if(declared, [](const Token& each) { return RE2::FullMatch(each.text, qualifier); });
    std::size_t end = 0;
    while (end < declared.size() && (declared[end].is_word() || declared[end].is("::"))) ++end;
    if (end < 2) continue;
    ConstantVariable variable{declared[end - 1].text, text_of(part(declared, 0, end - 1)), {}, declared[end - 1].line};
    for (; is_at(declared, end, "["); end = closing(declared, end) + 1)
      variable.extents.push_back(part(declared, end + 1, closing(declared, end)));
    if (end == declared.size()) found.push_back(std::move(variable));
  }
  return found;
}

std::vector<Value> list(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }

}  // namespace

SourceNames source_names(const TokenizedSource& source, const std::vector<TokenizedSource>& headers,
                         const TypeNames& types, const std::vector<KernelFunction>& kernels) {
  SourceNames names = NameReader(source, headers, types, kernels).run();
  names.constants = constant_variables(source.tokens);
  return names;
}

std::vector<Value> plausible_values(std::optional<std::int64_t> value, bool is_condition) {
  constexpr std::int64_t max_value = std::int64_t{1} << 40;
  if (is_condition && value.value_or(0) <= 1) return list({0, 1});
  if (!value) return {};
  if (*value < 0 || *value > max_value) return {*value};
  if (*value == 0) return list({0, 1});
  return *value == 1 ? list({1, 2, 4}) : list({*value / 2, *value, *value * 2});
}

std::optional<std::int64_t> integer_of(const std::string& literal) {
  static const RE2 form("(?i)(0x[0-9a-f]+|[0-9]+)[ul]*");
  std::int64_t value = 0;
  return RE2::FullMatch(literal, form, RE2::CRadix(&value)) ? std::optional(value) : std::nullopt;
}

std::string macro_case(const std::string& name) {
  std::string text = name;
  RE2::GlobalReplace(&text, "([a-z])([A-Z])", "\\1_\\2");
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace xtune::init
