// Finds the includes and the names in C++ source text.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

struct IncludeDirective {
  std::string name;     ///< between the delimiters
  bool quoted = false;  ///< "x" rather than <x>
  /// Which file of this name is read depends on more than the order of directories (#include_next, .incbin).
  bool any = false;
  std::size_t line = 0;      ///< from 1; 0: unknown
  bool conditional = false;  ///< within #if, #ifdef or #ifndef
};

/// A #define.
struct MacroLine {
  std::string text;          ///< the text after #define, spliced
  std::size_t line = 0;      ///< from 1
  bool conditional = false;  ///< within #if, #ifdef or #ifndef
};

struct SourceScan {
  std::vector<IncludeDirective> includes;  ///< in order of appearance, also those behind a false #if
  std::set<std::string> words;             ///< identifiers outside of comments, literals and #include lines
  bool computes_names = false;             ///< by ##, or in #include MACRO: it may use names that are not in `words`
  /// Other mentioned files: names of __has_include and #embed, and of .incbin and .include in literals (inline
  /// assembly) and in assembly itself.
  std::vector<IncludeDirective> mentioned;
  std::vector<std::string> computed;    ///< text after #include that is not a name, spliced
  std::vector<std::string> probed;      ///< the same after __has_include(, also in macros
  std::vector<std::string> conditions;  ///< text after #if and #elif that may call a macro
  std::vector<MacroLine> macros;
  std::vector<std::string>
      unknown;  ///< literals with an .incbin or .include whose file name is not in the same literal
};
/// Whether a file that begins with these bytes (`text_sample_bytes` suffice) is text: it has no null byte there.
bool is_text(std::string_view beginning);
inline constexpr std::size_t text_sample_bytes = 8192;

/// Comments, strings, raw strings, character literals, digit separators and spliced lines follow the language's rules.
/// Accepts any bytes; finds nothing in what is not text.
SourceScan scan_source(std::string_view source);

/// The arguments of the calls of this function or macro in a text: "a, b" of "f(a, b)".
std::vector<std::string> calls_of(std::string_view name, std::string_view text);

/// Of a function or variable in C++, the name without scopes and template arguments: "conv::weights<4>" -> "weights".
std::string unqualified_name(const std::string& name);

}  // namespace xtune::build
