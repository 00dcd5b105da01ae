// The expressions, template texts and commands of a spec, evaluated: every failure becomes an error at its place in the
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/spec/spec.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

/// The Error(invalid_spec) of a text: its what() is "at: message in "text"".
struct TextError : Error {
  TextError(const Text& text, const Location& at_, const std::string& message_)
      : Error(ErrorKind::invalid_spec, to_string(at_) + ": " + message_ + " in \"" + text.text + "\""),
        at(at_),
        message(message_) {}
  Location at;
  std::string message;
};

/// The place of a column (counted in bytes from 0) in a text.
Location locate(const Text& text, std::size_t column);
/// An expression or a template text, parsed once and evaluated many times. Immutable, cheap to copy, safe to share
/// between threads.
///
/// In a template text, "{EXPR}" is replaced by the value of the expression as a compiler reads it (booleans as 1 and
/// 0), and "{{" and "}}" by braces. Every function throws TextError at the place of the error.
class CompiledText {
 public:
  static CompiledText expression(const Text& text);
  /// several: "{EXPR...}" is allowed.
  static CompiledText template_text(const Text& text, bool several = false);

  const Text& source() const noexcept { return source_; }
  /// The expressions in it; a part's text and location are those of the expression.
  struct Part {
    std::string before;  ///< plain text before the expression, or after the last one
    Text text;
    std::vector<space::Expression> expression;  ///< one, or none in the last part of a template
    bool several = false;                       ///< it is written {EXPR...}
  };
  const std::vector<Part>& parts() const noexcept { return parts_; }
  /// The names that its expressions use.
  std::set<std::string, std::less<>> names() const;

  /// The value of an expression.
  Value evaluate(const space::Lookup& lookup) const;
  /// The same as an integer; accepts a float without a fraction, but not a boolean.
  std::int64_t evaluate_integer(const space::Lookup& lookup) const;
  /// A template text with its expressions replaced; an expression's value as text.
  std::string expand(const space::Lookup& lookup) const;

 private:
  Text source_;
  std::vector<Part> parts_;
};

/// The names in the expressions of a launch.
std::set<std::string, std::less<>> names_in(const LaunchSpec& launch);
/// The names in the expressions of an argument: value, shape, tensor map.
std::set<std::string, std::less<>> names_in(const ArgSpec& argument);

/// Throws space::ExpressionError.
space::Expression parse_expression(const Text& text);

Value evaluate(const Text& expression, const space::Lookup& lookup);
std::int64_t evaluate_integer(const Text& expression, const space::Lookup& lookup);
std::string expand(const Text& template_text, const space::Lookup& lookup);

/// Finds the names of a problem, of device facts ("device.<name>"), and, if config is given, of the parameters. The
/// arguments must outlive the result.
space::Lookup lookup_names(const Bindings& problem, const Bindings& device_facts,
                           const std::vector<space::Parameter>& parameters = {}, const space::Config* config = nullptr);

/// The words of a command that is not passed to a shell. Blanks separate them; 'single' and "double" quotes enclose
/// blanks, and a backslash escapes the next character (within double quotes: only \" and \\). Text in braces is one
/// piece, and keeps its quotes. Each word is a template text with its place. Throws TextError for an open quote or
/// brace, and for characters with a meaning only for a shell: | & ; < > ( ) $ ` * ? ~ # outside of quotes;
/// remedy: what the message about these adds.
std::vector<Text> split_command(const Text& command, const std::string& remedy = {});

/// A word of a command: a template text in which "{out}" and "{tmp}" stay, or "{EXPR...}", the one form that becomes
/// any number of words: those of the value, as split_command splits it. With `shell`, a text for /bin/sh -c, in which
/// each value that is not a plain word is put into single quotes, and {out} and {tmp} become variables with these
/// places.
class CommandWord {
 public:
  /// Throws TextError; for a shell's text also for a placeholder within quotes.
  explicit CommandWord(const Text& word, bool shell = false);

  /// Appends call texts (core/device/program_call.hpp); for a shell's text its whole call. Throws TextError if an
  /// expression has no value.
  void expand(const space::Lookup& lookup, std::vector<std::string>& to) const;
  const CompiledText& text() const noexcept { return text_; }
  /// The parts with an expression other than out and tmp.
  std::vector<const CompiledText::Part*> expressions() const;
  bool names(std::string_view place) const;  ///< whether it contains "{out}" or "{tmp}"

 private:
  CompiledText text_;
  bool shell_ = false;
};

/// Whether the expression is the name of a place in call texts.
bool is_place(std::string_view expression) noexcept;
/// Why commands cannot use the name, to follow "parameter 'out' "; empty: they can.
std::string place_complaint(std::string_view name);

}  // namespace xtune::spec
