// One pass over the source with just enough of the lexer to know what is code.
#include "core/build/include_scan.hpp"

#include <cctype>
#include <optional>
#include <utility>

#include "core/build/source_cursor.hpp"

namespace xtune {

namespace {

class Scanner : SourceCursor {
 public:
  using SourceCursor::SourceCursor;

  SourceScan run() {
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
    return std::move(found_);
  }

 private:
  void directive() {
    skip_blanks();
    const std::string name = word();
    if (name == "define") return found_.macros.push_back(rest_of_line());
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
      (embeds ? found_.mentioned : found_.includes).push_back(std::move(*file));
    }
  }

  /// At a quote or a bracket.
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

  /// Stays where it is.
  std::string rest_of_line() {
    const std::size_t begin = at_;
    std::string text;
    while (!at_end() && peek() != '\n') {
      if (skip_splice()) continue;
      if (peek() == '"' || peek() == '\'') {
        const std::size_t literal = at_;
        skip_quoted(peek());
        text += source_.substr(literal, at_ - literal);
      } else if (skip_comment()) {
        text += ' ';
      } else {
        text += source_[at_++];
      }
    }
    at_ = begin;
    return text;
  }

  /// __has_include("name"), __has_embed(<name>): what the source becomes depends on whether it is there.
  void conditional_name() {
    const std::size_t begin = at_;
    skip_blanks();
    if (peek() == '(') {
      ++at_;
      skip_blanks();
      if (peek() == '"' || peek() == '<') {
        if (auto file = header_name()) return found_.mentioned.push_back(std::move(*file));
      }
    }
    at_ = begin;
  }

  /// .incbin "file", as inline assembly has it: the quotes are escaped, or the literal is a raw one.
  void literal(std::string_view text) {
    constexpr std::string_view word = ".incbin";
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      std::size_t begin = at + word.size();
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
      // 1'000'000: the quote inside a number separates digits.
      while (number && peek() == '\'' && is_word(peek(1))) {
        ++at_;
        word();
      }
      if (peek() == '"' && (text == "R" || text == "LR" || text == "uR" || text == "UR" || text == "u8R")) {
        const std::size_t begin = at_;
        skip_raw_string();
        literal(source_.substr(begin, at_ - begin));
      } else {
        if (text == "__has_include" || text == "__has_include_next" || text == "__has_embed") conditional_name();
        found_.words.insert(std::move(text));
      }
    } else if (peek() == '"' || peek() == '\'') {
      const std::size_t begin = at_;
      skip_quoted(source_[at_]);
      literal(source_.substr(begin, at_ - begin));
    } else {
      if (peek() == '#' && peek(1) == '#') found_.computes_names = true;
      ++at_;
    }
  }

  SourceScan found_;
};

}  // namespace

SourceScan scan_source(std::string_view source) { return Scanner(source).run(); }

std::vector<IncludeDirective> scan_includes(std::string_view source) { return scan_source(source).includes; }

}  // namespace xtune
