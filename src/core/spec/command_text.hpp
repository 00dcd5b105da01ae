// Commands of a spec: split into words before values are inserted, so that a value cannot extend beyond its word.
#pragma once

#include <string>
#include <vector>

#include "core/spec/template_text.hpp"

namespace xtune::spec {

/// The words of a command that is not passed to a shell. Blanks separate them; 'single' and "double" quotes enclose
/// blanks, and a backslash escapes the next character (within double quotes: only \" and \\). Text in braces is one
/// piece, and keeps its quotes. Each word is a template text with its place. Throws TextError for an open quote or
/// brace, and for characters with a meaning only for a shell: | & ; < > ( ) $ ` * ? ~ # outside of quotes;
/// remedy: what the message about these adds.
std::vector<Text> split_command(const Text& command, const std::string& remedy = {});

/// A word of a command: a template text in which "{out}" and "{tmp}" stay, or "{EXPR...}", the one form that becomes
/// any number of words: those of the value, as split_command splits it.
class CommandWord {
 public:
  /// Throws TextError.
  explicit CommandWord(const Text& word);

  /// Appends call texts (core/device/program_call.hpp). Throws TextError if an expression has no value.
  void expand(const space::Lookup& lookup, std::vector<std::string>& to) const;
  const CompiledText& text() const noexcept { return text_; }
  /// The parts with an expression other than out and tmp.
  std::vector<const CompiledText::Part*> expressions() const;
  bool names(std::string_view place) const;  ///< whether it contains "{out}" or "{tmp}"

 private:
  CompiledText text_;
  bool several_ = false;
};

/// A text for /bin/sh -c: each value is put into single quotes, and {out} and {tmp} become variables with these places.
class ShellText {
 public:
  /// Throws TextError, also for a placeholder within quotes.
  explicit ShellText(const Text& text);
  /// Returns a call text. Throws TextError.
  std::string expand(const space::Lookup& lookup) const;
  const CommandWord& word() const noexcept { return word_; }

 private:
  CommandWord word_;
};

/// Whether the expression is the name of a place in call texts.
bool is_place(std::string_view expression) noexcept;
/// Why commands cannot use the name, to follow "parameter 'out' "; empty: they can.
std::string place_complaint(std::string_view name);

}  // namespace xtune::spec
