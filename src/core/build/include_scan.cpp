// Scans the source once, with only as much lexing as needed to recognise code.
#include "core/build/include_scan.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "core/build/source_cursor.hpp"

namespace xtune::build {

namespace {

/// The closing parenthesis of one that was opened before the text.
std::size_t end_of_argument(std::string_view text) {
  std::size_t at = 0;
  for (int depth = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth < 0) break;
  }
  return at;
}

class Scanner : SourceCursor {
 public:
  /// Adds what it finds to `found`.
  Scanner(std::string_view source, SourceScan& found) : SourceCursor(source), found_(found) {}

  void run() {
    bool line_start = true;
    while (!at_end()) {
      if (skip_splice() || skip_comment()) continue;
      const char c = source_[at_];
      if (c == '\n') {
        line_start = true;
        ++at_;
      } else if (is_blank(c)) {
        ++at_;
      } else if (line_start && take_hash()) {
        line_start = false;
        directive();
      } else {
        line_start = false;
        skip_token();
      }
    }
    end_literals();
  }

 private:
  void directive() {
    skip_blanks();
    const std::string name = word();
    if (name.starts_with("if")) ++conditions_;
    if (name == "endif") --conditions_;
    if (name == "define") return found_.macros.push_back({rest_of_line(), line(), conditions_ > 0});
    if (name == "if" || name == "elif")
      if (std::string text = rest_of_line(); text.find('(') != text.npos) found_.conditions.push_back(std::move(text));
    const bool embeds = name == "embed";
    if (name != "include" && name != "include_next" && name != "import" && !embeds) return;
    skip_blanks();
    if (peek() != '"' && peek() != '<') {
      found_.computes_names = true;
      found_.computed.push_back(rest_of_line());
      return;
    }
    if (auto file = header_name()) {
      file->any = name == "include_next";
      file->line = line();
      file->conditional = conditions_ > 0;
      (embeds ? found_.mentioned : found_.includes).push_back(std::move(*file));
    }
  }

  /// Reads a header name at a quote or a bracket.
  std::optional<IncludeDirective> header_name() {
    const char close = peek() == '"' ? '"' : '>';
    ++at_;
    std::string file;
    while (at_ < source_.size() && peek() != close && peek() != '\n')
      if (!skip_splice()) file += source_[at_++];
    if (peek() != close || file.empty()) return std::nullopt;
    ++at_;
    return IncludeDirective{std::move(file), close == '"'};
  }

  /// __has_include("name"), __has_embed(<name>): the result depends on whether the file exists.
  void conditional_name() {
    const std::size_t begin = at_;
    skip_blanks();
    if (peek() == '(') {
      ++at_;
      skip_blanks();
      if (peek() == '"' || peek() == '<') {
        if (auto file = header_name()) return found_.mentioned.push_back(std::move(*file));
      } else if (is_word(peek())) {
        // A name computed by macros; defined(__has_include) has none.
        const std::string rest = rest_of_line();
        found_.computes_names = true;
        found_.probed.push_back(rest.substr(0, end_of_argument(rest)));
      }
    }
    at_ = begin;
  }

  /// Reads a directive of assembly, which may itself have been included: .include "name", .incbin "name". Starts at the
  /// dot.
  bool assembler_directive() {
    const std::string_view rest = source_.substr(at_ + 1);
    for (const std::string_view word : {"include", "incbin"}) {
      if (base::lower_case(rest.substr(0, word.size())) != word) continue;
      std::size_t at = word.size();
      while (at < rest.size() && is_blank(rest[at])) ++at;
      if (at == word.size() || at >= rest.size() || rest[at] != '"') continue;
      const std::size_t end = rest.find_first_of("\"\n", at + 1);
      if (end == std::string_view::npos || rest[end] != '"' || end == at + 1) continue;
      found_.mentioned.push_back({std::string(rest.substr(at + 1, end - at - 1)), true, true});
      at_ += end + 2;
      return true;
    }
    return false;
  }

  /// Adjacent literals are one literal: collects the text between the quotes.
  void add_literal(std::string_view text) { literals_ += text; }

  void end_literals() {
    if (literals_.empty()) return;
    const std::string whole = '"' + literals_ + '"';
    literals_.clear();
    for (const std::string_view word : {".incbin", ".include"}) assembly(whole, word);
  }

  /// .incbin "file" in inline assembly: the quotes are escaped, or the literal is a raw one.
  void assembly(std::string_view text, std::string_view word) {
    const std::string any_case = base::lower_case(text);  // GNU's assembler ignores the case of directives
    for (auto at = any_case.find(word); at != std::string_view::npos; at = any_case.find(word, at + 1)) {
      std::size_t begin = at + word.size();
      if (begin < text.size() && !is_blank(text[begin]) && text[begin] != '\\' && text[begin] != '"') continue;
      while (begin < text.size() && is_blank(text[begin])) ++begin;
      if (begin < text.size() && text[begin] == '\\') ++begin;
      const std::size_t end = begin < text.size() ? text.find_first_of("\"\\\n", begin + 1) : std::string_view::npos;
      // The literal itself ends with a quote.
      const bool named = end != std::string_view::npos && text[begin] == '"' && text[end] != '\n' &&
                         end + 1 < text.size() && end > begin + 1;
      if (named)
        found_.mentioned.push_back({std::string(text.substr(begin + 1, end - begin - 1)), true, true});
      else
        found_.unknown.emplace_back(text);
    }
  }

  void skip_token() {
    if (is_word(peek())) {
      const bool number = std::isdigit(static_cast<unsigned char>(peek()));
      std::string text = word();
      // 1'000'000: a quote inside a number separates digits.
      while (number && peek() == '\'' && is_word(peek(1))) {
        ++at_;
        word();
      }
      if (peek() == '"' && (text == "R" || text == "LR" || text == "uR" || text == "UR" || text == "u8R")) {
        const std::size_t begin = at_;
        skip_raw_string();
        add_literal(inside_of_raw(source_.substr(begin, at_ - begin)));
      } else {
        end_literals();
        if (text == "__has_include" || text == "__has_include_next" || text == "__has_embed") conditional_name();
        found_.words.insert(std::move(text));
      }
    } else if (peek() == '"' || peek() == '\'') {
      const std::size_t begin = at_;
      skip_quoted(source_[at_]);
      const std::string_view text = source_.substr(begin, at_ - begin);
      add_literal(text.substr(1, text.size() > 2 ? text.size() - 2 : 0));
    } else {
      end_literals();
      if (peek() == '.' && assembler_directive()) return;
      if (peek() == '#' && peek(1) == '#') found_.computes_names = true;
      ++at_;
    }
  }

  /// The text between the parentheses of R"x(...)x".
  static std::string_view inside_of_raw(std::string_view literal) {
    const std::size_t open = literal.find('('), close = literal.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return literal;
    return literal.substr(open + 1, close - open - 1);
  }

  SourceScan& found_;
  std::string literals_;  ///< those right before this place
  int conditions_ = 0;    ///< #if and the like that are open
};

/// Replaces single carriage returns by line feeds: they end a line for Clang, and are blanks for GCC.
std::string with_ended_lines(std::string_view source) {
  std::string text(source);
  for (std::size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1))
    if (at + 1 == text.size() || text[at + 1] != '\n') text[at] = '\n';
  return text;
}

}  // namespace

bool is_text(std::string_view beginning) {
  return beginning.substr(0, text_sample_bytes).find('\0') == std::string_view::npos;
}

SourceScan scan_source(std::string_view source) {
  SourceScan found;
  if (!is_text(source)) return found;
  Scanner(source, found).run();
  // The compiler is not known here, so everything that any of them finds counts.
  if (const std::string ended = with_ended_lines(source); ended != source) Scanner(ended, found).run();
  return found;
}

std::vector<std::string> calls_of(std::string_view name, std::string_view text) {
  std::vector<std::string> arguments;
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t open = text.find_first_not_of(" \t", at + name.size());
    const bool is_name = at == 0 || (!std::isalnum(static_cast<unsigned char>(text[at - 1])) && text[at - 1] != '_');
    if (!is_name || open == text.npos || text[open] != '(') continue;
    const std::string_view rest = text.substr(open + 1);
    arguments.emplace_back(rest.substr(0, end_of_argument(rest)));
  }
  return arguments;
}

std::string unqualified_name(const std::string& name) {
  std::string plain = name.substr(0, name.find('<'));
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  const auto colon = plain.rfind(':');
  return colon == std::string::npos ? plain : plain.substr(colon + 1);
}

}  // namespace xtune::build
