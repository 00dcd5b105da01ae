// Builds on the cursor that the scanner of includes uses.
#include "core/build/tokens.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "core/build/source_cursor.hpp"

namespace xtune::build {

namespace {

class TokenReader : SourceCursor {
 public:
  using SourceCursor::SourceCursor;

  TokenizedSource run() {
    bool line_start = true;
    while (!at_end()) {
      if (skip_splice() || skip_comment()) continue;
      if (peek() == '\n') {
        line_start = true;
        ++at_;
      } else if (is_blank(peek())) {
        ++at_;
      } else if (const std::size_t begin = at_; line_start && take_hash()) {
        directive(begin);
      } else {
        line_start = false;
        token();
      }
    }
    return std::move(found_);
  }

 private:
  struct Condition {
    std::string text;  ///< "ifndef BLOCK"
    bool off = false;  ///< #if 0, until its #else
    bool alternative = false;
  };

  bool any(bool Condition::*what) const {
    return std::any_of(conditions_.begin(), conditions_.end(), [&](const Condition& each) { return each.*what; });
  }

  void directive(std::size_t begin) {
    skip_blanks();
    Directive found;
    found.line = line();
    found.name = word();
    found.text = base::trimmed(rest_of_line(), " \t\r");
    while (!at_end() && peek() != '\n')
      if (peek() == '"' || peek() == '\'')
        skip_quoted(peek());
      else if (!skip_splice() && !skip_comment())
        ++at_;
    found.begin = begin;
    found.end = at_;
    const std::string& name = found.name;
    if (name == "endif" && !conditions_.empty()) conditions_.pop_back();
    if ((name == "else" || name == "elif") && !conditions_.empty()) {
      Condition& condition = conditions_.back();
      condition.alternative = condition.alternative || !condition.off;
      condition.off = false;
      condition.text = name;
    }
    if (!conditions_.empty()) found.guard = conditions_.back().text;
    found.conditional = !conditions_.empty();
    if (name.starts_with("if")) conditions_.push_back({name + " " + found.text, found.text == "0", false});
    if (!any(&Condition::off)) found_.directives.push_back(std::move(found));
  }

  void token() {
    Token found;
    found.line = line();
    found.alternative = any(&Condition::alternative);
    const std::size_t begin = at_;
    if (is_word(peek())) {
      const bool number = std::isdigit(static_cast<unsigned char>(peek())) != 0;
      found.kind = number ? Token::Kind::number : Token::Kind::word;
      found.text = word();
      if (number) rest_of_number(found.text);
      if (peek() == '"' && found.text.ends_with('R') && found.text.size() <= 3) {
        skip_raw_string();
        found.kind = Token::Kind::literal;
        found.text = "\"\"";
      }
    } else if (peek() == '"' || peek() == '\'') {
      const char quote = peek();
      skip_quoted(quote);
      found.kind = Token::Kind::literal;
      found.text = source_.substr(begin, at_ - begin) == "\"C\"" ? "\"C\"" : std::string(2, quote);
    } else {
      found.text = mark();
    }
    found.begin = begin;
    found.end = at_;
    if (!any(&Condition::off)) found_.tokens.push_back(std::move(found));
  }

  /// 1'000, 1.5e-3f.
  void rest_of_number(std::string& text) {
    while (!at_end()) {
      const char last = text.back();
      const bool exponent = (last == 'e' || last == 'E') && !text.starts_with("0x");
      if (is_word(peek()) || peek() == '.' || (exponent && (peek() == '-' || peek() == '+')))
        text += source_[at_++];
      else if (peek() == '\'' && is_word(peek(1)))
        ++at_;
      else
        return;
    }
  }

  std::string mark() {
    static constexpr std::array two{"::", "->", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
                                    "<<", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
    const std::string_view next = source_.substr(at_, 2);
    for (const std::string_view each : two)
      if (next == each) {
        at_ += 2;
        return std::string(each);
      }
    return std::string(1, source_[at_++]);
  }

  TokenizedSource found_;
  std::vector<Condition> conditions_;
};

}  // namespace

TokenizedSource tokenize(std::string_view source) { return TokenReader(source).run(); }

Tokens tokens_of(std::string_view text) { return tokenize(text).tokens; }

std::size_t closing(const Tokens& tokens, std::size_t open) {
  const bool angled = tokens[open].is("<");
  int depth = 0, angles = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (tokens[i].kind != Token::Kind::mark) continue;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (angled && depth == 0 && text == "<") ++angles;
    if (angled && depth == 0 && text == ">" && --angles == 0) return i;
    if (angled && depth == 0 && text == ";") return tokens.size();
    if ((text == ")" || text == "]" || text == "}") && --depth == 0 && !angled) return i;
    if (depth < 0) return tokens.size();
  }
  return tokens.size();
}

Tokens part(const Tokens& tokens, std::size_t begin, std::size_t end) {
  end = std::min(end, tokens.size());
  if (begin >= end) return {};
  return {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::vector<Tokens> split_arguments(const Tokens& tokens) {
  std::vector<Tokens> parts;
  if (tokens.empty()) return parts;
  parts.emplace_back();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == ",") {
      parts.emplace_back();
      continue;
    }
    std::size_t end = i;
    if (text == "(" || text == "[" || text == "{" || text == "<") end = closing(tokens, i);
    if (end >= tokens.size()) end = i;  // a comparison, or unbalanced
    for (; i <= end; ++i) parts.back().push_back(tokens[i]);
    i = end;
  }
  return parts;
}

std::string text_of(const Tokens& tokens) {
  std::string text;
  bool after_word = false;
  for (const Token& token : tokens) {
    const bool word = token.kind != Token::Kind::mark;
    if (word && after_word) text += ' ';
    text += token.text;
    after_word = word;
  }
  return text;
}

}  // namespace xtune::build
