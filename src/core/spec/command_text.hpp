// Commands of a spec: cut into words before anything is put into them, so that no value can break out of its word.
#pragma once

#include <string>
#include <vector>

#include "core/spec/template_text.hpp"

namespace xtune::spec {

/// The words of a command that no shell will read. Blanks separate them; 'single' and "double" quotes hold blanks, and
/// a backslash takes the next character for itself (within double quotes: \" and \\ alone). What stands in braces is
/// one piece, and keeps its quotes. Each word is a template text at its place. Throws TextError for an open quote or
/// brace, and for what only a shell would understand: | & ; < > ( ) $ ` * ? ~ # outside of quotes.
std::vector<Text> split_command(const Text& command);

/// A word of a command: a template text of which "{out}" and "{tmp}" stay, or "{EXPR...}", the one form that becomes
/// several words or none: the words of the value, as split_command cuts it.
class CommandWord {
 public:
  /// Throws TextError.
  explicit CommandWord(const Text& word);

  /// Appends call texts (core/device/program_call.hpp). Throws TextError where an expression has no value.
  void expand(const space::Lookup& lookup, std::vector<std::string>& to) const;
  const CompiledText& text() const noexcept { return text_; }
  /// The parts with an expression that is not out or tmp.
  std::vector<const CompiledText::Part*> expressions() const;
  bool names(std::string_view place) const;  ///< whether "{out}" or "{tmp}" is in it

 private:
  CompiledText text_;
  bool several_ = false;
};

/// A text for /bin/sh -c: each value comes in single quotes, {out} and {tmp} as the variables that hold them.
class ShellText {
 public:
  /// Throws TextError, also for a placeholder that stands within quotes.
  explicit ShellText(const Text& text);
  /// A call text. Throws TextError.
  std::string expand(const space::Lookup& lookup) const;
  const CommandWord& word() const noexcept { return word_; }

 private:
  CommandWord word_;
};

/// The places that call texts name.
bool is_place(std::string_view expression) noexcept;
/// Why commands could not name it, to follow "parameter 'out' "; empty: they can.
std::string place_complaint(std::string_view name);

}  // namespace xtune::spec
