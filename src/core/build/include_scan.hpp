// Finds what C++ source text includes and which names it uses.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

struct IncludeDirective {
  std::string name;     ///< between the delimiters
  bool quoted = false;  ///< "x" rather than <x>
  /// Which of the files of this name is read depends on more than the folders' order (#include_next, .incbin).
  bool any = false;
};

/// A #define.
struct MacroLine {
  std::string text;          ///< what follows #define, spliced
  std::size_t line = 0;      ///< from 1
  bool conditional = false;  ///< within #if, #ifdef or #ifndef
};

struct SourceScan {
  std::vector<IncludeDirective> includes;  ///< as scan_includes tells
  std::set<std::string> words;             ///< identifiers outside of comments, literals and #include lines
  bool computes_names = false;             ///< by ##, or in #include MACRO: it may use names that are not in `words`
  /// Beside what is included: names of __has_include and #embed, and of .incbin and .include in literals (inline
  /// assembly) and in assembly itself.
  std::vector<IncludeDirective> mentioned;
  std::vector<std::string> computed;  ///< what follows #include or __has_include( where that is no name, spliced
  std::vector<MacroLine> macros;
  std::vector<std::string>
      unknown;  ///< literals with an .incbin or .include whose file's name is not in the same literal
};
SourceScan scan_source(std::string_view source);

/// Of a function or variable in C++, the name without scopes and template arguments: "conv::weights<4>" -> "weights".
std::string unqualified_name(const std::string& name);

/// In order of appearance, those behind a false #if too. Comments, strings, raw strings, character literals, digit
/// separators and spliced lines are read as the language says; #include MACRO is not found, as no macro is expanded.
/// Any bytes are accepted.
std::vector<IncludeDirective> scan_includes(std::string_view source);

}  // namespace xtune::build
