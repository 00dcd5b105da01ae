// Only as much lexing as is needed to find words, literals and directives: splices, comments, raw strings.
#include "core/build/tokens.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace xtune::build {

namespace {

class TokenReader {
 public:
  using UseToken = std::function<void(Token&&)>;
  using UseDirective = std::function<void(Directive&&)>;
  enum class Disabled { omitted, read };  ///< what stands behind #if 0

  TokenReader(std::string_view source, Disabled disabled, const UseToken& use_token, const UseDirective& use_directive)
      : source_(without_byte_order_mark(source)),
        disabled_(disabled),
        use_token_(use_token),
        use_directive_(use_directive) {}

  void run() {
    bool line_start = true;
    while (!at_end()) {
      if (skip_splice() || skip_comment()) continue;
      if (peek() == '\n') {
        line_start = true;
        ++at_;
      } else if (is_blank_character(peek())) {
        ++at_;
      } else if (const std::size_t begin = at_; line_start && take_hash()) {
        directive(begin);
      } else {
        line_start = false;
        token();
      }
    }
  }

 private:
  bool at_end() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  // A backslash before the end of a line joins it with the next one.
  bool skip_splice() {
    if (peek() != '\\') return false;
    const std::size_t length = peek(1) == '\n' ? 2 : peek(1) == '\r' && peek(2) == '\n' ? 3 : 0;
    at_ += length;
    return length > 0;
  }

  bool skip_comment() {
    if (peek() != '/') return false;
    if (peek(1) == '*') {
      const auto end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
      return true;
    }
    if (peek(1) != '/') return false;
    while (at_ < source_.size() && peek() != '\n')
      if (!skip_splice()) ++at_;
    return true;
  }

  bool take_hash() {
    const std::size_t length = peek() == '#' ? 1 : peek() == '%' && peek(1) == ':' ? 2 : 0;
    at_ += length;
    return length > 0;
  }

  void skip_blanks() {
    while (at_ < source_.size() && (is_blank_character(peek()) ? (++at_, true) : skip_splice() || skip_comment())) {
    }
  }

  std::string word() {
    std::string text;
    std::size_t end = at_;
    while (is_word_character(peek())) {
      text += source_[at_++];
      end = at_;
      while (skip_splice()) {
      }
    }
    at_ = end;  // a splice behind the word is not part of it
    return text;
  }

  void skip_quoted(char quote) {
    ++at_;
    while (at_ < source_.size() && peek() != '\n') {
      if (skip_splice()) continue;
      const char c = source_[at_++];
      if (c == quote) return;
      if (c == '\\' && at_ < source_.size()) ++at_;
    }
  }

  static bool is_raw_prefix(std::string_view word) {
    constexpr std::string_view prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    return std::ranges::find(prefixes, word) != std::end(prefixes);
  }

  /// Where the word at the end of the text begins.
  static std::size_t last_word(std::string_view text) {
    std::size_t begin = text.size();
    while (begin > 0 && is_word_character(text[begin - 1])) --begin;
    return begin;
  }

  void skip_raw_string() {
    const auto open = source_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) {  // a delimiter has at most 16 characters
      ++at_;
      return;
    }
    const std::string close = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const auto end = source_.find(close, open + 1);
    at_ = end == std::string_view::npos ? source_.size() : end + close.size();
  }

  /// The line of this place, from 1.
  std::size_t line() {
    const auto at = [&](std::size_t place) { return source_.begin() + static_cast<std::ptrdiff_t>(place); };
    line_ += static_cast<std::size_t>(std::count(at(counted_), at(at_), '\n'));
    counted_ = at_;
    return line_;
  }

  /// What follows on this line, spliced and without comments.
  std::string rest_of_line() {
    std::string text;
    while (!at_end() && peek() != '\n') {
      if (skip_splice()) continue;
      const std::size_t begin = at_;
      if (peek() == '"' && is_raw_prefix(text.substr(last_word(text)))) {
        skip_raw_string();
        text += source_.substr(begin, at_ - begin);
      } else if (peek() == '"' || peek() == '\'') {
        skip_quoted(peek());
        for (const std::size_t end = std::exchange(at_, begin); at_ < end;)
          if (!skip_splice()) text += source_[at_++];
      } else if (skip_comment()) {
        text += ' ';
      } else {
        text += source_[at_++];
      }
    }
    return text;
  }

  struct Condition {
    std::string text;  ///< "ifndef BLOCK"
    bool off = false;  ///< #if 0, until its #else
    bool alternative = false;
  };

  bool any(bool Condition::*what) const {
    return std::any_of(conditions_.begin(), conditions_.end(), [&](const Condition& each) { return each.*what; });
  }

  bool is_wanted() const { return disabled_ == Disabled::read || !any(&Condition::off); }

  void directive(std::size_t begin) {
    skip_blanks();
    Directive found;
    found.line = line();
    found.name = word();
    skip_blanks();
    const bool has_header = found.name.starts_with("include") || found.name == "import" || found.name == "embed";
    const std::size_t close = has_header && peek() == '<' ? source_.find_first_of(">\n", at_) : source_.npos;
    if (close != source_.npos && source_[close] == '>') {  // no comment begins between these
      found.text = source_.substr(at_, close + 1 - at_);
      at_ = close + 1;
    }
    found.text += base::trimmed(rest_of_line(), " \t\r");
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
    if (is_wanted()) use_directive_(std::move(found));
  }

  void token() {
    Token found;
    found.line = line();
    found.alternative = any(&Condition::alternative);
    const std::size_t begin = at_;
    if (is_word_character(peek())) {
      const bool number = std::isdigit(static_cast<unsigned char>(peek())) != 0;
      found.kind = number ? Token::Kind::number : Token::Kind::word;
      found.text = word();
      if (number) rest_of_number(found.text);
      if (peek() == '"' && is_raw_prefix(found.text)) {
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
    if (is_wanted()) use_token_(std::move(found));
  }

  /// 1'000, 1.5e-3f, 0x1p-3.
  void rest_of_number(std::string& text) {
    const std::string_view marks = text.starts_with("0x") ? "pP" : "eE";
    while (!at_end()) {
      const bool exponent = marks.find(text.back()) != marks.npos;
      if (is_word_character(peek()) || peek() == '.' || (exponent && (peek() == '-' || peek() == '+')))
        text += source_[at_++];
      else if (peek() == '\'' && is_word_character(peek(1)))
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

  const std::string_view source_;
  const Disabled disabled_;
  const UseToken& use_token_;
  const UseDirective& use_directive_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, counted_ = 0;  ///< the line of a place, and that place: the next is counted from there
  std::vector<Condition> conditions_;
};

}  // namespace

TokenizedSource tokenize(std::string_view source) {
  TokenizedSource found;
  TokenReader(
      source, TokenReader::Disabled::omitted, [&](Token&& token) { found.tokens.push_back(std::move(token)); },
      [&](Directive&& directive) { found.directives.push_back(std::move(directive)); })
      .run();
  return found;
}

void read_tokens(std::string_view source, const std::function<void(Token&&)>& use_token,
                 const std::function<void(Directive&&)>& use_directive) {
  TokenReader(source, TokenReader::Disabled::read, use_token, use_directive).run();
}

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
