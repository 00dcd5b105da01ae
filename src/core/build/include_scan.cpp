// One pass over the source with just enough of the lexer to know what is code.
#include "core/build/include_scan.hpp"

#include <cctype>
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
    if (name != "include" && name != "include_next" && name != "import") return;
    skip_blanks();
    const char close = peek() == '"' ? '"' : peek() == '<' ? '>' : '\0';
    if (!close) {
      found_.computes_names = true;
      return;
    }
    ++at_;
    std::string file;
    while (at_ < source_.size() && peek() != close && peek() != '\n')
      if (!skip_splice()) file += source_[at_++];
    if (peek() != close || file.empty()) return;
    ++at_;
    found_.includes.push_back({std::move(file), close == '"'});
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
      if (peek() == '"' && (text == "R" || text == "LR" || text == "uR" || text == "UR" || text == "u8R"))
        skip_raw_string();
      else
        found_.words.insert(std::move(text));
    } else if (peek() == '"' || peek() == '\'') {
      skip_quoted(source_[at_]);
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
