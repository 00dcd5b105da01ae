// Looks at one token or directive after the other.
#include "core/build/include_scan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "core/build/tokens.hpp"

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

class Scanner {
 public:
  /// Adds what it finds to `found`.
  Scanner(std::string_view source, SourceScan& found) : found_(found) {
    source = without_byte_order_mark(source);
    read_tokens(
        source, [&](Token&& token) { use(source, std::move(token)); }, [&](Directive&& directive) { use(directive); });
    end_literals();
  }

 private:
  void use(const Directive& directive) {
    const std::string& name = directive.name;
    std::string_view text = directive.text;
    if (name == "define") found_.macros.push_back({directive.text, directive.line, directive.conditional});
    if ((name == "if" || name == "elif") && text.find('(') != text.npos) found_.conditions.push_back(directive.text);
    const bool embeds = name == "embed";
    if (name == "include" || name == "include_next" || name == "import" || embeds) {
      if (!text.starts_with('"') && !text.starts_with('<')) {
        found_.computes_names = true;
        found_.computed.push_back(directive.text);
      } else if (auto file = take_header_name(text)) {
        file->any = name == "include_next";
        file->line = directive.line;
        file->conditional = directive.conditional;
        (embeds ? found_.mentioned : found_.includes).push_back(std::move(*file));
      }
    }
    for (Token& token : tokens_of(text)) use(text, std::move(token));
  }

  /// Removes a header name, at a quote or a bracket, from the beginning of a text.
  static std::optional<IncludeDirective> take_header_name(std::string_view& text) {
    const char close = text.front() == '"' ? '"' : '>';
    const std::size_t end = text.find_first_of(std::string{close, '\n'}, 1);
    std::string_view name = text.substr(1, std::min(end, text.size()) - 1);
    const bool is_closed = end != text.npos && text[end] == close && !name.empty();
    text.remove_prefix(std::min(end, text.size()));
    if (!is_closed) return std::nullopt;
    text.remove_prefix(1);
    return IncludeDirective{std::string(name), close == '"'};
  }

  /// text: of which this is the next token.
  void use(std::string_view text, Token&& token) {
    const std::string_view written = text.substr(token.begin, token.end - token.begin);
    if (token.kind == Token::Kind::literal) {
      if (names_file(token, written))
        found_.mentioned.push_back({std::string(written.substr(1, written.size() - 2)), true, true});
      else
        literals_ += inside(written);
    } else {
      end_literals();
      if (token.is("#") && last_.is("#")) found_.computes_names = true;
    }
    after_dot_ = token.is_word() && last_.is(".") && last_.end == token.begin;
    if (token.is_word()) {
      if (token.is("__has_include") || token.is("__has_include_next") || token.is("__has_embed"))
        conditional_name(text.substr(token.end));
      found_.words.insert(token.text);
    }
    last_ = std::move(token);
  }

  /// Whether a literal follows a directive of assembly, which may itself have been included: .include "name", .incbin
  /// "name".
  bool names_file(const Token& literal, std::string_view written) const {
    const std::string word = after_dot_ ? base::lower_case(last_.text) : "";
    return (word == "include" || word == "incbin") && literal.begin > last_.end && written.size() > 2 &&
           written.starts_with('"') && written.ends_with('"');
  }

  /// Behind __has_include, as in __has_include("name"): the result depends on whether the file exists.
  void conditional_name(std::string_view text) {
    const auto skip_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size())); };
    skip_blanks();
    if (!text.starts_with('(')) return;
    text.remove_prefix(1);
    skip_blanks();
    if (text.starts_with('"') || text.starts_with('<')) {
      if (auto file = take_header_name(text)) found_.mentioned.push_back(std::move(*file));
    } else if (!text.empty() && is_word_character(text.front())) {
      // A name computed by macros; defined(__has_include) has none.
      text = text.substr(0, text.find('\n'));
      found_.computes_names = true;
      found_.probed.emplace_back(text.substr(0, end_of_argument(text)));
    }
  }

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
      if (begin < text.size() && !is_blank_character(text[begin]) && text[begin] != '\\' && text[begin] != '"')
        continue;
      while (begin < text.size() && is_blank_character(text[begin])) ++begin;
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

  /// The text between the quotes, or between the parentheses of R"x(...)x".
  static std::string_view inside(std::string_view literal) {
    if (literal.starts_with('"') || literal.starts_with('\''))
      return literal.substr(1, literal.size() > 2 ? literal.size() - 2 : 0);
    const std::size_t open = literal.find('('), close = literal.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return literal;
    return literal.substr(open + 1, close - open - 1);
  }

  SourceScan& found_;
  std::string literals_;    ///< those right before this place, which are one literal together
  Token last_{};            ///< the token before this place
  bool after_dot_ = false;  ///< it is a word right behind a dot
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
  Scanner(source, found);
  // The compiler is not known here, so everything that any of them finds counts.
  if (const std::string ended = with_ended_lines(source); ended != source) Scanner(ended, found);
  return found;
}

std::vector<std::string> calls_of(std::string_view name, std::string_view text) {
  std::vector<std::string> arguments;
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t open = text.find_first_not_of(" \t", at + name.size());
    const bool is_name = at == 0 || !is_word_character(text[at - 1]);
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
