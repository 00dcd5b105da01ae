// The header names that #include MACRO may stand for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/include_scan.hpp"

namespace xtune::build {

/// Every definition that a source, its headers and its compile options hold, whichever of them is in force where a name
/// is computed: no condition is evaluated, so that the names are all that may be meant, and some more.
class MacroDefinitions {
 public:
  /// What follows #define: "NAME", "NAME body", "NAME(a, b) body".
  void define(std::string_view text);

  struct Names {
    std::vector<IncludeDirective> names;  ///< each once, in a fixed order
    bool complete = true;                 ///< false: there may be others (too many, macros of the compiler's own)
    std::set<std::string> used;           ///< the names whose definitions, or lack of one, decided
  };
  /// text: what follows #include.
  Names names_of(const std::string& text) const;

 private:
  struct Definition {
    bool takes_arguments = false;
    std::vector<std::string> parameters;
    std::string body;
  };
  class Expansion;
  std::map<std::string, std::vector<Definition>, std::less<>> definitions_;
};

}  // namespace xtune::build
