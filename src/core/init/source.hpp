// A source as tokens and preprocessor directives, its __global__ functions, and the element types of their arguments.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "xtune/dtype.hpp"

namespace xtune::init {

struct Token {
  enum class Kind { word, number, literal, mark };
  Kind kind = Kind::mark;
  std::string text;          ///< of a literal, its quotes only
  std::size_t line = 0;      ///< from 1
  bool alternative = false;  ///< in the #else or #elif of a condition, whose first branch is read too

  bool is(std::string_view other) const { return text == other; }
  bool is_word() const { return kind == Kind::word; }
};
using Tokens = std::vector<Token>;

/// A line that begins with #.
struct Directive {
  std::string name;          ///< "define", "if", ...
  std::string text;          ///< what follows, spliced and without comments
  std::size_t line = 0;      ///< from 1
  std::string guard;         ///< "ifndef BLOCK": the innermost condition around it; empty: none
  bool conditional = false;  ///< within any condition
};

struct TokenizedSource {
  Tokens tokens;
  std::vector<Directive> directives;
};

/// Comments and what stands behind #if 0 are omitted. "::", "->", and comparisons and assignments of two characters are
/// one token each; ">>" is two, as templates end with it. Any bytes are accepted.
TokenizedSource tokenize(std::string_view source);
/// Of a directive's text.
Tokens tokens_of(std::string_view text);

/// Where the bracket at tokens[open] closes, as ( [ { or <; tokens.size() if it does not.
std::size_t closing(const Tokens& tokens, std::size_t open);
/// tokens[begin, end), as far as there are tokens.
Tokens part(const Tokens& tokens, std::size_t begin, std::size_t end);
/// The parts between commas outside of all brackets; none of an empty text.
std::vector<Tokens> split_arguments(const Tokens& tokens);
/// As source text, with blanks between words only.
std::string text_of(const Tokens& tokens);

struct TemplateParameter {
  std::string type;  ///< "int", "bool", "Mode"; "typename" of a type
  std::string name;  ///< may be empty
  std::string default_value;
  bool is_pack = false;  ///< typename... Ts
  bool is_type() const { return type == "typename"; }
};

struct FunctionArgument {
  std::string type;  ///< without const, references and pointers: "unsigned int", "thrust::complex<float>"
  std::string name;  ///< may be empty
  int pointers = 0;
  bool is_const = false;  ///< of a pointer: what it points to
  bool is_reference = false;
};

struct KernelFunction {
  std::string name;
  std::string qualified;  ///< with its namespaces
  std::size_t line = 0;
  std::vector<TemplateParameter> templates;
  std::vector<FunctionArgument> arguments;
  std::vector<Tokens> launch_bounds;  ///< the arguments of __launch_bounds__, or of a macro that is named like it
  Tokens declared;                    ///< its arguments as they are written
  Tokens body;                        ///< between its braces
  std::size_t first_line = 0;         ///< of __global__
  bool only = true;                   ///< no other definition has its name
};

/// Definitions, in their order; of several of one name (overloads, branches of #if) the first. Declarations, explicit
/// specialisations and instantiations are omitted.
std::vector<KernelFunction> kernel_functions(const Tokens& tokens);

/// float4 is four f32.
struct ElementType {
  DType type = DType::f32;
  int lanes = 1;
};

/// The names that a source gives to types: using, typedef, enum, struct, and macros whose bodies are types. A name with
/// two meanings, as in the branches of #if, has none.
class TypeNames {
 public:
  explicit TypeNames(const TokenizedSource& source);
  /// The name stands for this type from now on, or for an unknown one if it is empty: of a template parameter.
  void set(const std::string& name, const std::string& type) { names_[name] = type; }

  /// A single word that the source does not declare, or not in one way only: it may be any type.
  bool is_open(const std::string& type) const;
  /// nullopt: none that a spec can name.
  std::optional<ElementType> element_type(const std::string& type) const;

 private:
  void add(const std::string& name, const std::string& type);
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace xtune::init
