// Parses and evaluates the texts of a spec, and splits its commands into words.
#include "core/spec/template_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/device/program_call.hpp"
#include "core/space/value.hpp"
#include "system/shell_words.hpp"

namespace xtune::spec {

namespace {

[[noreturn]] void fail(const Text& text, std::size_t column, const std::string& message) {
  throw TextError(text, locate(text, column), message);
}

space::Expression parse(const Text& text, const char* remedy = "") {
  try {
    return parse_expression(text);
  } catch (const space::ExpressionError& error) {
    fail(text, error.column, error.what() + std::string(remedy));
  }
}

Value value_of(const CompiledText::Part& part, const space::Lookup& lookup) {
  try {
    return part.expression.front().evaluate(lookup);
  } catch (const space::ExpressionError& error) {
    fail(part.text, error.column, error.what());
  }
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The brace that closes the one at `open`; braces in quotes do not count.
std::size_t closing_brace(const Text& text, std::size_t open) {
  char quote = 0;
  for (std::size_t i = open + 1; i < text.text.size(); ++i) {
    const char c = text.text[i];
    if (quote != 0 && c == '\\')
      ++i;
    else if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '}')
      return i;
  }
  fail(text, open, "'{' is not closed (a plain brace is written '{{')");
}

class Splitter {
 public:
  Splitter(const Text& command, const std::string& remedy)
      : command_(command), source_(command.text), remedy_(remedy) {}

  std::vector<Text> words() {
    while (at_ < source_.size()) {
      if (is_blank(source_[at_])) {
        ++at_;
        continue;
      }
      start_ = at_;
      std::string word;
      while (at_ < source_.size() && !is_blank(source_[at_])) piece(word);
      words_.push_back({std::move(word), locate(command_, start_), command_.escaped, command_.derived});
    }
    return std::move(words_);
  }

 private:
  void piece(std::string& word) {
    const char c = source_[at_];
    if (c == '\'' || c == '"') return quoted(word, c);
    if (c == '\\') {
      if (at_ + 1 == source_.size()) fail(command_, at_, "a backslash at the end takes nothing");
      word += source_[at_ + 1];
      at_ += 2;
    } else if (std::string_view("|&;<>()$`*?~#").find(c) != std::string_view::npos) {
      fail(command_, at_,
           std::string("'") + c + "' needs a shell, and none is used: put it in quotes to pass it literally" + remedy_);
    } else {
      copy(word);
    }
  }

  /// A placeholder, a doubled brace or a character.
  void copy(std::string& word) {
    const bool doubled = source_.compare(at_, 2, "{{") == 0 || source_.compare(at_, 2, "}}") == 0;
    const std::size_t size = doubled ? 2 : source_[at_] == '{' ? closing_brace(command_, at_) + 1 - at_ : 1;
    word += source_.substr(at_, size);
    at_ += size;
  }

  void quoted(std::string& word, char quote) {
    const std::size_t opened = at_++;
    for (; at_ < source_.size(); copy(word)) {
      const char c = source_[at_], next = at_ + 1 < source_.size() ? source_[at_ + 1] : 0;
      if (c == quote) return static_cast<void>(++at_);
      if (quote == '"' && c == '\\' && (next == '"' || next == '\\')) ++at_;
    }
    fail(command_, opened, "the quote is never closed");
  }

  const Text& command_;
  const std::string& source_;
  const std::string& remedy_;
  std::size_t at_ = 0, start_ = 0;
  std::vector<Text> words_;
};

bool stands_for_place(const CompiledText::Part& part) { return !part.expression.empty() && is_place(part.text.text); }

/// The value as text, which a program can get.
std::string text_for_program(const CompiledText::Part& part, const space::Lookup& lookup) {
  std::string value = space::to_define(value_of(part, lookup));
  if (value.find('\0') != std::string::npos)
    fail(part.text, 0, "a value with a zero byte cannot be passed to a program");
  return value;
}

[[noreturn]] void fail_at_brace(const Text& text, const CompiledText::Part& part, const std::string& message) {
  Location at = part.text.at;
  if (at.line > 0) --at.column;
  throw TextError(text, at, message);
}

/// Within quotes for the shell, a value, which brings its own, would not be literal.
void refuse_quoted_placeholders(const CompiledText& text) {
  char quote = 0;
  bool escaped = false;
  for (const CompiledText::Part& part : text.parts()) {
    for (const char c : part.before) {
      const bool literal = std::exchange(escaped, !escaped && c == '\\' && quote != '\'');
      if (literal || escaped) continue;
      if (quote != 0)
        quote = c == quote ? 0 : quote;
      else if (c == '\'' || c == '"')
        quote = c;
    }
    if (!part.expression.empty() && (quote != 0 || escaped))
      fail_at_brace(text.source(), part,
                    "a placeholder within quotes: with shell = true its value brings its own quotes");
  }
}

/// Whether the value is an integer from 2^63 on, which is a text of digits.
bool is_large(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text && text->size() >= 19 && text->find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

space::Expression parse_expression(const Text& text) { return space::Expression::parse(text.text, text.derived.get()); }

Location locate(const Text& text, std::size_t column) {
  Location at = text.at;
  for (std::size_t i = 0; i < column && i < text.text.size(); ++i) {
    const char c = text.text[i];
    if (text.escaped && std::string_view("\n\r\t\"\\").find(c) != std::string_view::npos) {
      at.column += 2;
    } else if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if ((c & 0xC0) != 0x80) {
      ++at.column;
    }
  }
  return at.line == 0 || text.at.line == 0 ? text.at : at;
}

CompiledText CompiledText::expression(const Text& text) {
  CompiledText compiled;
  compiled.source_ = text;
  compiled.parts_.push_back({{}, text, {parse(text)}});
  return compiled;
}

CompiledText CompiledText::template_text(const Text& text, bool several) {
  CompiledText compiled;
  compiled.source_ = text;
  std::string plain;
  const std::string& source = text.text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    const bool doubled = i + 1 < source.size() && source[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      plain += c;
      ++i;
    } else if (c == '}') {
      fail(text, i, "'}' without '{' (a plain brace is written '}}')");
    } else if (c == '{') {
      const std::size_t end = closing_brace(text, i);
      Text inner{source.substr(i + 1, end - i - 1), locate(text, i + 1), text.escaped, text.derived};
      const bool dots = several && inner.text.size() > 3 && inner.text.ends_with("...");
      if (dots) inner.text.resize(inner.text.size() - 3);
      compiled.parts_.push_back({std::move(plain), inner, {parse(inner, " (a plain brace is written '{{')")}, dots});
      plain.clear();
      i = end;
    } else {
      plain += c;
    }
  }
  if (!plain.empty()) compiled.parts_.push_back({std::move(plain), text, {}});
  return compiled;
}

std::set<std::string, std::less<>> CompiledText::names() const {
  std::set<std::string, std::less<>> names;
  for (const Part& part : parts_)
    for (const space::Expression& expression : part.expression)
      names.insert(expression.names().begin(), expression.names().end());
  return names;
}

Value CompiledText::evaluate(const space::Lookup& lookup) const { return value_of(parts_.front(), lookup); }

std::int64_t CompiledText::evaluate_integer(const space::Lookup& lookup) const {
  const Value value = evaluate(lookup);
  if (const auto integer = space::integer_of(value)) return *integer;
  if (is_large(value))
    fail(source_, 0, to_text(value) + " is too large: integers other than the value of a u64 are at most 2^63 - 1");
  fail(source_, 0, "expected an integer, got the " + std::string(space::type_name(value)) + " " + to_text(value));
}

std::string CompiledText::expand(const space::Lookup& lookup) const {
  std::string result;
  for (const Part& part : parts_) {
    result += part.before;
    if (!part.expression.empty()) result += space::to_define(value_of(part, lookup));
  }
  return result;
}

std::set<std::string, std::less<>> names_in(const LaunchSpec& launch) {
  std::set<std::string, std::less<>> names;
  for (const std::vector<Text>* sizes : {&launch.grid, &launch.block, &launch.cluster})
    for (const Text& size : *sizes) names.merge(CompiledText::expression(size).names());
  if (launch.shared) names.merge(CompiledText::expression(*launch.shared).names());
  return names;
}

std::set<std::string, std::less<>> names_in(const ArgSpec& argument) {
  std::set<std::string, std::less<>> names;
  const auto add = [&](const Text& text) { names.merge(CompiledText::expression(text).names()); };
  if (argument.value) add(*argument.value);
  for (const Text& text : argument.shape) add(text);
  for (const FieldSpec& field : argument.fields) {
    for (const Text& text : field.value) add(text);
    for (const auto* text : {&field.offset, &field.stride, &field.entries})
      if (*text) add(**text);
  }
  if (!argument.map) return names;
  const TensorMapSpec& map = *argument.map;
  for (const auto* texts : {&map.box, &map.shape, &map.strides, &map.element_strides})
    for (const Text& text : *texts) add(text);
  for (const auto* text : {&map.swizzle, &map.l2_promotion, &map.interleave})
    if (*text) add(**text);
  return names;
}

Value evaluate(const Text& expression, const space::Lookup& lookup) {
  return CompiledText::expression(expression).evaluate(lookup);
}

std::int64_t evaluate_integer(const Text& expression, const space::Lookup& lookup) {
  return CompiledText::expression(expression).evaluate_integer(lookup);
}

std::string expand(const Text& template_text, const space::Lookup& lookup) {
  return CompiledText::template_text(template_text).expand(lookup);
}

space::Lookup lookup_names(const Bindings& problem, const Bindings& device_facts,
                           const std::vector<space::Parameter>& parameters, const space::Config* config) {
  // A default argument's temporary would not outlive the returned function.
  const std::vector<space::Parameter>* const named = config == nullptr ? nullptr : &parameters;
  return [&problem, &device_facts, named, config](std::string_view name) -> const Value* {
    if (named != nullptr)
      for (std::size_t i = 0; i < named->size() && i < config->size(); ++i)
        if ((*named)[i].name == name) return &(*config)[i];
    const Value* const size = space::find_value(problem, name);
    return size ? size : space::find_value(device_facts, name);
  };
}

bool is_place(std::string_view expression) noexcept { return expression == "out" || expression == "tmp"; }

std::string place_complaint(std::string_view name) {
  return is_place(name) ? "is a place in the commands of [process], {" + std::string(name) + "}: choose another name"
                        : "";
}

std::vector<Text> split_command(const Text& command, const std::string& remedy) {
  return Splitter(command, remedy).words();
}

CommandWord::CommandWord(const Text& word, bool shell) : text_(CompiledText::template_text(word, true)), shell_(shell) {
  if (const std::size_t zero = word.text.find('\0'); zero != std::string::npos)
    fail(word, zero, "a zero byte cannot be passed to a program");
  for (const CompiledText::Part& part : text_.parts()) {
    const std::string name = part.text.text;
    if (part.several && shell)
      fail_at_brace(word, part,
                    "{" + name +
                        "...} becomes several words, which does not go with shell = true: write it "
                        "without the dots, as one word");
    if (part.several && (text_.parts().size() > 1 || !part.before.empty()))
      fail_at_brace(word, part, "{" + name + "...} becomes several words: it cannot be a part of one");
    if (part.several && stands_for_place(part)) fail(word, 0, "{" + name + "} is one word: leave the dots out");
  }
  if (shell) refuse_quoted_placeholders(text_);
}

std::vector<const CompiledText::Part*> CommandWord::expressions() const {
  std::vector<const CompiledText::Part*> parts;
  for (const CompiledText::Part& part : text_.parts())
    if (!part.expression.empty() && !stands_for_place(part)) parts.push_back(&part);
  return parts;
}

bool CommandWord::names(std::string_view place) const {
  return std::any_of(text_.parts().begin(), text_.parts().end(),
                     [&](const CompiledText::Part& part) { return stands_for_place(part) && part.text.text == place; });
}

void CommandWord::expand(const space::Lookup& lookup, std::vector<std::string>& to) const {
  std::string text;
  for (const CompiledText::Part& part : text_.parts()) {
    text += device::to_call_text(part.before);
    if (part.expression.empty()) continue;
    const std::string& name = part.text.text;
    if (stands_for_place(part)) {
      text += !shell_ ? "{" + name + "}" : name == "out" ? "\"$XTUNE_OUT\"" : "\"$XTUNE_TMP\"";
      continue;
    }
    const std::string value = text_for_program(part, lookup);
    text += device::to_call_text(shell_ ? system::command_line({value}) : value);
    if (!part.several) continue;
    // A value is data: braces in it are not placeholders.
    for (const Text& word : split_command({text, part.text.at})) to.push_back(word.text);
    return;
  }
  if (shell_) to.insert(to.end(), {"/bin/sh", "-c"});
  to.push_back(std::move(text));
}

}  // namespace xtune::spec
