// Finds what C++ source text includes and which names it uses.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xtune {

struct IncludeDirective {
  std::string name;     ///< between the delimiters
  bool quoted = false;  ///< "x" rather than <x>
};

struct SourceScan {
  std::vector<IncludeDirective> includes;  ///< as scan_includes tells
  std::set<std::string> words;             ///< identifiers outside of comments, literals and #include lines
  bool computes_names = false;             ///< by ##, or in #include MACRO: it may use names that are not in `words`
};
SourceScan scan_source(std::string_view source);

/// In order of appearance, those behind a false #if too. Comments, strings, raw strings, character literals, digit
/// separators and spliced lines are read as the language says; #include MACRO is not found, as no macro is expanded.
/// Any bytes are accepted.
std::vector<IncludeDirective> scan_includes(std::string_view source);

}  // namespace xtune
