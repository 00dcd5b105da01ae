// The lexer builds on the cursor that the scanner of includes uses. The walk over the tokens knows scopes and
// templates, and nothing else of C++.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/init/expressions.hpp"

namespace xtune::init {

namespace {

/// What stands before and behind a "=" outside of brackets.
std::pair<Tokens, Tokens> split_default(const Tokens& tokens) {
  const auto parts = operands(tokens, "=");
  return {parts.front().second, parts.size() > 1 ? parts[1].second : Tokens()};
}

/// Removes the name behind a type of several words; empty: there is none.
std::string take_name(Tokens& type) {
  static const RE2 words("int|unsigned|signed|long|short|char|float|double|bool|void|auto|half");
  if (type.size() < 2 || !type.back().is_word() || RE2::FullMatch(type.back().text, words)) return "";
  const std::string name = type.back().text;
  type.pop_back();
  return name;
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

}  // namespace

FunctionArgument argument_of(const Tokens& written) {
  static const RE2 qualifier(
      "const|volatile|__restrict__|__restrict|restrict|struct|class|typename|__grid_constant__|enum");
  FunctionArgument argument;
  Tokens tokens = without_attributes(split_default(written).first);
  // float x[16] is a pointer.
  while (!tokens.empty() && tokens.back().is("]")) {
    while (!tokens.empty() && !tokens.back().is("[")) tokens.pop_back();
    if (!tokens.empty()) tokens.pop_back();
    argument.has_rows = argument.pointers == 1;
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
    } else if (RE2::FullMatch(token.text, qualifier)) {
      if (token.is("const") && !pointer_seen) argument.is_const = true;
    } else if (pointer_seen || argument.is_reference) {
      argument.name = token.text;
    } else {
      type.push_back(token);
    }
  }
  if (argument.name.empty() && !(type.size() > 1 && type[type.size() - 2].is("::"))) argument.name = take_name(type);
  argument.type = text_of(type);
  return argument;
}

namespace {

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
  parameter.name = take_name(type);
  parameter.type = text_of(type);
  return parameter;
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
  std::size_t step(std::size_t i) {
    const Token& token = tokens_[i];
    if (token.is("template") && is_at(tokens_, i + 1, "<")) {
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
    if (!is_at(tokens_, i, "{")) return i;
    scopes_.push_back(name);
    return i + 1;
  }

  /// Behind __global__; returns where to go on.
  std::size_t function(std::size_t i) {
    KernelFunction kernel;
    kernel.first_line = tokens_[i - 1].line;
    const bool counts = !instantiated_ && (!templated_ || !template_.empty());
    for (; i < tokens_.size() && !is_at(tokens_, i, ";") && !is_at(tokens_, i, "{") && !is_at(tokens_, i, "}"); ++i) {
      if (is_at(tokens_, i, "[") || is_at(tokens_, i, "<")) {
        const std::size_t end = closing(tokens_, i);
        if (end < tokens_.size()) i = end;
        continue;
      }
      if (!is_at(tokens_, i, "(")) continue;
      const std::size_t end = closing(tokens_, i);
      if (end >= tokens_.size()) return i + 1;
      const Tokens inside = part(tokens_, i + 1, end);
      if (i > 0 && RE2::FullMatch(tokens_[i - 1].text, "(?i)_*launch_?bounds_*"))
        kernel.launch_bounds = split_arguments(inside);
      else if (i > 0 && tokens_[i - 1].is_word() && is_at(tokens_, end + 1, "{"))
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
    kernel.declared = arguments;
    kernel.body = part(tokens_, open + 1, end);
    if (templated_)
      for (const Tokens& each : split_arguments(template_)) kernel.templates.push_back(template_parameter(each));
    for (const Tokens& each : split_arguments(arguments))
      if (!(each.size() == 1 && each.front().is("void"))) kernel.arguments.push_back(argument_of(each));
    const auto known =
        std::ranges::find_if(found_, [&](const KernelFunction& other) { return other.qualified == kernel.qualified; });
    const auto is_same = [](const FunctionArgument& a, const FunctionArgument& b) {
      return std::tie(a.type, a.pointers, a.is_const) == std::tie(b.type, b.pointers, b.is_const);
    };
    if (known != found_.end()) {
      known->only = false;
      if (!templated_ && known->templates.empty() && !std::ranges::equal(known->arguments, kernel.arguments, is_same))
        known->overload = kernel.line;
    } else if (counts)
      found_.push_back(std::move(kernel));
    templated_ = instantiated_ = false;
    return end >= tokens_.size() ? tokens_.size() : end + 1;
  }

  Tokens tokens_, template_;
  bool templated_ = false, instantiated_ = false;
  std::vector<std::string> scopes_;  ///< the braces that are open, and the name of each that is a namespace
  std::vector<KernelFunction> found_;
};

/// "std::int64_t" is "int64_t", "thrust::complex<float>" is "complex<float>".
std::string without_namespaces(const std::string& type) {
  const std::size_t end = type.find('<');
  const std::size_t at = type.substr(0, end).rfind("::");
  return at == std::string::npos ? type : type.substr(at + 2);
}

struct KnownType {
  DType type;
  const char* name;         ///< in all compilers
  std::string_view others;  ///< of CUDA, HIP and <xtune/narrow.cuh>; words_type has the integers of several words
};
constexpr KnownType known_types[] = {
    {DType::boolean, "bool", " bool "},
    {DType::f32, "float", " float tf32 "},
    {DType::f64, "double", " double "},
    {DType::f16, "__half", " half __half _Float16 float16_t f16 "},
    {DType::bf16, "__nv_bfloat16", " bfloat16 nv_bfloat16 __nv_bfloat16 hip_bfloat16 __hip_bfloat16 __bf16 bf16 "},
    {DType::f8e4m3, "__nv_fp8_e4m3", " __nv_fp8_e4m3 __hip_fp8_e4m3 f8e4m3 "},
    {DType::f8e5m2, "__nv_fp8_e5m2", " __nv_fp8_e5m2 __hip_fp8_e5m2 f8e5m2 "},
    {DType::c64, "cuFloatComplex", " cuComplex cuFloatComplex hipFloatComplex complex<float> "},
    {DType::c128, "cuDoubleComplex", " cuDoubleComplex hipDoubleComplex complex<double> "},
    {DType::i8, "signed char", " int8_t "},
    {DType::u8, "unsigned char", " uint8_t byte uchar "},
    {DType::i16, "short", " int16_t "},
    {DType::u16, "unsigned short", " uint16_t ushort "},
    {DType::i32, "int", " int32_t "},
    {DType::u32, "unsigned int", " uint32_t uint "},
    {DType::i64, "long long", " int64_t ptrdiff_t intptr_t longlong "},
    {DType::u64, "unsigned long long", " uint64_t size_t uintptr_t ulong ulonglong "}};

/// "unsigned long long int"
std::optional<DType> words_type(const std::string& type) {
  if (!RE2::FullMatch(type, "(?:(?:signed|unsigned|char|short|int|long) ?)+")) return std::nullopt;
  const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
  const bool is_unsigned = has("unsigned");
  if (has("char")) return is_unsigned ? DType::u8 : DType::i8;
  if (has("short")) return is_unsigned ? DType::u16 : DType::i16;
  if (has("long")) return is_unsigned ? DType::u64 : DType::i64;
  return is_unsigned ? DType::u32 : DType::i32;
}

std::optional<DType> scalar_type(const std::string& type) {
  for (const auto& [dtype, name, others] : known_types)
    if (others.find(" " + type + " ") != std::string_view::npos) return dtype;
  return words_type(type);
}

std::optional<ElementType> built_in(const std::string& type) {
  if (const auto scalar = scalar_type(type)) return ElementType{*scalar, 1};
  // float4, half2, __nv_bfloat162
  if (type.empty() || type.back() < '1' || type.back() > '4') return std::nullopt;
  const auto scalar = scalar_type(type.substr(0, type.size() - 1));
  return scalar ? std::optional(ElementType{*scalar, type.back() - '0'}) : std::nullopt;
}

/// nullopt: they are not known for sure.
std::optional<std::vector<StructField>> fields_in(const Tokens& body) {
  std::vector<StructField> fields;
  for (std::size_t i = 0; i < body.size();) {
    Tokens line;
    bool is_function = false;
    for (; i < body.size() && !body[i].is(";"); ++i) {
      if (body[i].is("{") || body[i].is("(")) {
        is_function = is_function || body[i].is("(");
        const bool is_body = body[i].is("{");
        i = closing(body, i);
        if (is_body && is_function && !(i + 1 < body.size() && body[i + 1].is(";"))) break;
      } else {
        line.push_back(body[i]);
      }
    }
    ++i;
    const auto has = [&](std::initializer_list<std::string_view> words) {
      return std::ranges::any_of(line, [&](const Token& token) {
        return token.alternative || std::ranges::find(words, token.text) != words.end();
      });
    };
    if (has({"virtual", "struct", "class", "union", "enum", "template", "alignas", "__align__", "__attribute__"}))
      return std::nullopt;
    if (line.empty() || is_function || has({"static", "using", "typedef", "friend"})) continue;
    if (has({":"})) return std::nullopt;  // a bit field, or a label as public
    std::string type;
    for (Tokens declared : split_arguments(line)) {
      StructField field;
      declared = split_default(declared).first;
      while (declared.size() > 2 && declared.back().is("]")) {
        const std::string extent = declared[declared.size() - 2].text;
        std::uint64_t count = 0;
        if (!declared[declared.size() - 3].is("[") || !RE2::FullMatch(extent, "(\\d+)", &count) || count == 0)
          return std::nullopt;
        field.count *= count;
        declared.resize(declared.size() - 3);
      }
      // Behind the first one of int n, *list, b, there is only the name.
      const FunctionArgument parsed = argument_of(declared);
      field.name = type.empty() || !parsed.name.empty() ? parsed.name : parsed.type;
      if (type.empty()) type = parsed.type;
      field.type = type;
      field.pointers = parsed.pointers;
      if (field.name.empty() || parsed.is_reference) return std::nullopt;
      fields.push_back(std::move(field));
    }
  }
  return fields;
}

}  // namespace

void add_source(TokenizedSource& all, const TokenizedSource& more) {
  all.tokens.insert(all.tokens.end(), more.tokens.begin(), more.tokens.end());
  all.directives.insert(all.directives.end(), more.directives.begin(), more.directives.end());
}

std::set<std::string> identifiers_of(const TokenizedSource& source) {
  std::set<std::string> words;
  const auto add = [&](const Tokens& tokens) {
    for (const Token& token : tokens)
      if (token.is_word()) words.insert(token.text);
  };
  add(source.tokens);
  for (const Directive& directive : source.directives) add(tokens_of(directive.text));
  return words;
}

std::string cxx_name(DType type) { return std::ranges::find(known_types, type, &KnownType::type)->name; }

std::vector<KernelFunction> kernel_functions(const Tokens& tokens) { return KernelReader(tokens).run(); }

std::string overload_complaint(const TokenizedSource& source, const KernelFunction& kernel) {
  const auto is_conditional = [&](std::size_t line) {
    std::ptrdiff_t depth = 0;
    for (const Directive& each : source.directives)
      if (each.line < line) depth += each.name.starts_with("if") - (each.name == "endif");
    return depth > 0;
  };
  if (kernel.overload == 0 || is_conditional(kernel.line) || is_conditional(kernel.overload)) return {};
  return fmt::format("{} on line {} has an overload on line {}, and an entry cannot choose between them: rename one",
                     kernel.name, kernel.line, kernel.overload);
}

TypeNames::TypeNames(const TokenizedSource& source) {
  const Tokens& tokens = source.tokens;
  const auto until_end = [&](std::size_t i) {
    Tokens type;
    for (; i < tokens.size() && !tokens[i].is(";"); ++i)
      if (tokens[i].is("{"))
        i = std::min(closing(tokens, i), tokens.size() - 1);
      else if (tokens[i].is("enum"))
        type.push_back({Token::Kind::word, "int"});
      else if (!tokens[i].is("const") && !tokens[i].is("typename"))
        type.push_back(tokens[i]);
    return type;
  };
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens[i].is("using") && tokens[i + 1].is_word() && tokens[i + 2].is("="))
      add(tokens[i + 1].text, text_of(until_end(i + 3)));
    if (tokens[i].is("enum")) add_enum(tokens, i);
    if (tokens[i].is("struct") || tokens[i].is("class") || tokens[i].is("union")) {
      std::size_t name = i + 1;
      while (tokens[name].text.starts_with("__") && name + 2 < tokens.size()) ++name;
      if (tokens[name].is_word() && (tokens[name + 1].is("{") || tokens[name + 1].is(":") || tokens[name + 1].is(";")))
        declared_.insert(tokens[name].text);
    }
    if (!tokens[i].is("typedef")) continue;
    Tokens type = until_end(i + 1);
    if (std::ranges::any_of(type, [](const Token& each) { return each.is("{"); })) continue;
    if (type.size() < 2 || !type.back().is_word()) continue;
    const std::string name = type.back().text;
    type.pop_back();
    add(name, text_of(type));
  }
  for (const Directive& directive : source.directives) {
    Tokens body = directive.name == "define" ? tokens_of(directive.text) : Tokens();
    if (body.size() < 2 || body[1].is("(")) continue;
    const std::string name = body.front().text;
    body.erase(body.begin());
    if (element_type(text_of(body))) add(name, text_of(body));
  }
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].is("struct")) add_struct(source, i);
}

/// enum class Op : short { ... }, and typedef enum { ... } Op
void TypeNames::add_enum(const Tokens& tokens, std::size_t at) {
  std::size_t i = at + 1;
  if (i < tokens.size() && (tokens[i].is("class") || tokens[i].is("struct"))) ++i;
  const std::string name = i < tokens.size() && tokens[i].is_word() ? tokens[i++].text : "";
  Tokens type;
  if (i < tokens.size() && tokens[i].is(":"))
    for (++i; i < tokens.size() && !tokens[i].is("{") && !tokens[i].is(";"); ++i) type.push_back(tokens[i]);
  if (i >= tokens.size() || !(tokens[i].is("{") || (tokens[i].is(";") && !type.empty()))) return;
  const std::size_t end = tokens[i].is("{") ? closing(tokens, i) : i;
  const std::string is = type.empty() ? "int" : text_of(type);
  const bool is_typedef = at > 0 && tokens[at - 1].is("typedef") && end + 1 < tokens.size();
  for (const std::string& own : {name, is_typedef ? tokens[end + 1].text : std::string()})
    if (!own.empty()) add(own, is), enums_.insert(own);
}

/// struct Params { ... };, and typedef struct { ... } Params;
void TypeNames::add_struct(const TokenizedSource& source, std::size_t at) {
  const Tokens& tokens = source.tokens;
  std::size_t i = at + 1;
  const std::string name = i < tokens.size() && tokens[i].is_word() ? tokens[i++].text : "";
  if (i >= tokens.size()) return;
  const bool plain = tokens[i].is("{") && !(at > 0 && (tokens[at - 1].is(">") || tokens[at - 1].is("enum")));
  while (i < tokens.size() && !tokens[i].is("{") && !tokens[i].is(";") && !tokens[i].is("(") && !tokens[i].is(")")) ++i;
  if (i >= tokens.size() || !tokens[i].is("{")) return;
  const std::size_t end = closing(tokens, i);
  // What follows may be attributes.
  const bool is_typedef = at > 0 && tokens[at - 1].is("typedef");
  const bool ends = end + (is_typedef ? 2 : 1) < tokens.size() && tokens[end + (is_typedef ? 2 : 1)].is(";");
  const bool is_conditional = std::ranges::any_of(source.directives, [&](const Directive& each) {
    return (each.name == "pragma" && each.text.starts_with("pack")) ||
           (ends && each.line >= tokens[at].line && each.line <= tokens[end].line);
  });
  const auto fields = plain && ends && !is_conditional ? fields_in(part(tokens, i + 1, end)) : std::nullopt;
  for (const std::string& own : {name, is_typedef && ends ? tokens[end + 1].text : std::string()}) {
    if (own.empty()) continue;
    const auto [known, is_new] = structs_.try_emplace(own, fields.value_or(std::vector<StructField>()));
    if (!is_new) known->second.clear();
  }
}

const std::vector<StructField>* TypeNames::fields_of(const std::string& type) const {
  for (const std::string& name : {type, resolved(type), without_namespaces(resolved(type))}) {
    const auto found = structs_.find(name.starts_with("struct ") ? name.substr(7) : name);
    if (found != structs_.end()) return found->second.empty() ? nullptr : &found->second;
  }
  return nullptr;
}

void TypeNames::add(const std::string& name, const std::string& type) {
  const auto [known, is_new] = names_.try_emplace(name, type);
  if (!is_new && known->second != type) known->second.clear();
}

bool TypeNames::is_open(const std::string& type) const {
  const auto known = names_.find(type);
  return RE2::FullMatch(type, "\\w+") && type != "void" && !element_type(type) && !declared_.contains(type) &&
         (known == names_.end() || known->second.empty());
}

std::optional<ElementType> TypeNames::element_type(const std::string& type) const {
  const std::string known = resolved(type);
  const auto found = built_in(known);
  return found ? found : built_in(without_namespaces(known));
}

std::string TypeNames::resolved(const std::string& type) const {
  std::string asked = type;
  for (int steps = 0; steps < 16 && !built_in(asked) && !built_in(without_namespaces(asked)); ++steps) {
    auto named = names_.find(asked);
    if (named == names_.end()) named = names_.find(without_namespaces(asked));
    if (named == names_.end()) break;
    asked = named->second;
  }
  return asked;
}

}  // namespace xtune::init
