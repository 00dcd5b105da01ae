// The header names that #include MACRO may refer to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/include_scan.hpp"

namespace xtune::build {

/// All definitions in a source, its headers and its compile options. Conditions are not evaluated, so names_of returns
/// all names that are possible, and a few more.
class MacroDefinitions {
 public:
  /// text: the rest of the line after #define: "NAME", "NAME body", "NAME(a, b) body".
  void define(std::string_view text);

  struct Names {
    std::vector<IncludeDirective> names;  ///< each once, in a fixed order
    bool complete = true;                 ///< false: there may be others (macros of the compiler itself, or see below)
    std::set<std::string> used;           ///< names whose definitions, or missing definitions, were used
  };
  /// text: the rest of the line after #include. All calls together handle a limited number of characters, which
  /// libraries that count with macros exceed: the names are then incomplete.
  Names names_of(const std::string& text) const;

 private:
  struct Definition {
    bool takes_arguments = false;
    std::vector<std::string> parameters;
    std::string body;
  };
  class Expansion;
  std::map<std::string, std::vector<Definition>, std::less<>> definitions_;
  mutable std::size_t effort_left_ = 1 << 24;
};

}  // namespace xtune::build
