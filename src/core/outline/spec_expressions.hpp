// C++ expressions as a spec writes them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/outline/tokens.hpp"

namespace xtune::outline {

class SpecExpressions {
 public:
  /// expressions: what macros and constants stand for; it outlives this.
  explicit SpecExpressions(const std::map<std::string, Tokens>& expressions) : expressions_(expressions) {}

  /// A name of the source has this text in the spec: a parameter, a problem size, "blockDim.x".
  void set(const std::string& name, const std::string& text) { names_[name] = text; }
  bool has(const std::string& name) const { return names_.contains(name); }

  /// Integers, names and + - * / % ( ), with macros and constants replaced. nullopt: something else is in it.
  std::optional<std::string> text_of(const Tokens& tokens) const { return translate(tokens, 0); }

 private:
  std::optional<std::string> translate(const Tokens& tokens, int depth) const;
  std::optional<std::string> operand(const std::string& name, int depth) const;

  const std::map<std::string, Tokens>& expressions_;
  std::map<std::string, std::string> names_;
};

}  // namespace xtune::outline
