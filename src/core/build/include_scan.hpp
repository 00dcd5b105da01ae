// Finds the #include directives of C++ source text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xtune {

struct IncludeDirective {
  std::string name;     ///< between the delimiters
  bool quoted = false;  ///< "x" rather than <x>
};

/// In order of appearance, those behind a false #if too. Comments, strings, raw strings, character literals, digit
/// separators and spliced lines are read as the language says; #include MACRO is not found, as no macro is expanded.
/// Any bytes are accepted.
std::vector<IncludeDirective> scan_includes(std::string_view source);

}  // namespace xtune
