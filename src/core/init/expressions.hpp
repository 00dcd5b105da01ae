// C++ expressions as a spec writes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/init/source.hpp"

namespace xtune::init {

bool is_at(const Tokens& tokens, std::size_t i, std::string_view text);
bool mentions(const Tokens& tokens, std::string_view word);
/// Without casts between numbers, those to floating-point types only with `reals`. members: blockIdx.x is one word, p.x
/// is p, and p->x is p[0]; else each is one word.
Tokens simplified(const Tokens& body, bool members = true, bool reals = false);
/// From i to the end of the expression: ; or , or what closes a bracket that was opened before.
Tokens expression_at(const Tokens& tokens, std::size_t i);
/// Where the bracket opens that closes at i.
std::size_t opening(const Tokens& tokens, std::size_t i);
/// Without brackets around all of it.
Tokens unwrapped(Tokens tokens);
using Operands = std::vector<std::pair<std::string, Tokens>>;
/// The operands between operators that the form matches, outside of brackets, each with the operator before it.
Operands operands(const Tokens& tokens, const char* form);
/// The terms of a sum, also of sums in brackets within it.
Operands terms_of(const Tokens& sum, const std::string& sign = "+");

/// Of an expression of a spec.
Tokens spec_tokens(std::string text);
bool is_function(const std::string& word);
/// Its names, but those of functions.
std::vector<std::string> names_in(const std::string& text);
/// The value that C++ gives an expression of a spec, with these values of its names; nullopt: a name has none, or the
/// value is not defined.
std::optional<double> computed(const Tokens& expression, const std::map<std::string, std::int64_t>& values = {});

/// The variable that p.n and p->n are of.
std::string object_of(const Token& word);
/// The three extents of a dim3, or of a variable with these definitions; empty: they cannot be read. An extent without
/// tokens is not known.
std::vector<Tokens> extents_of(const Tokens& written, const std::map<std::string, Tokens>& definitions, int depth = 0);

/// What stands for an expression of its arguments: a macro, or a function that only returns it.
struct Formula {
  std::vector<std::string> parameters;
  Tokens body;
};

class SpecExpressions {
 public:
  /// expressions: what macros and constants stand for; it outlives this.
  explicit SpecExpressions(const std::map<std::string, Tokens>& expressions) : expressions_(&expressions) {}
  /// Of host code, where a name that nothing else is known of stands for itself. formulas outlives this, too.
  SpecExpressions(const std::map<std::string, Tokens>& expressions, const std::map<std::string, Formula>& formulas)
      : expressions_(&expressions), formulas_(&formulas) {}

  /// A name of the source has this text in the spec: a parameter, a problem size, "blockDim.x".
  void set(const std::string& name, const std::string& text) { names_[name] = text; }

  /// Integers, names and + - * / % ( ), with macros and constants replaced, and without brackets around all of it. Of
  /// host code also calls of min, max, formulas, and ceil of a quotient of floating-point numbers, and sizeof. nullopt:
  /// something else is in it.
  std::optional<std::string> text_of(const Tokens& tokens, int depth = 0) const;

 private:
  std::optional<std::string> operand(const std::string& name, int depth) const;
  std::optional<std::string> call(const std::string& name, const Tokens& inside, int depth) const;
  std::optional<std::string> rounded_up(const Tokens& tokens, int depth) const;

  const std::map<std::string, Tokens>* expressions_;
  const std::map<std::string, Formula>* formulas_ = nullptr;
  std::map<std::string, std::string> names_;
};

}  // namespace xtune::init
