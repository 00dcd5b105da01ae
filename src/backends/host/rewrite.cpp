// Edits the text in place, token by token, so that the compiler's messages keep their lines. The lexer has only as much
// C++ as is needed to find keywords and statements.
#include "backends/host/rewrite.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::host {
namespace {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line_start_ = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (c == '#' && line_start_) {
        directive();
      } else if (system_) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        line_start_ = false;
        token();
      }
    }
    return std::move(tokens_);
  }

 private:
  void add(Token::Kind kind, std::size_t end) {
    tokens_.push_back({kind, text_.substr(at_, end - at_)});
    at_ = end;
  }

  struct Marker {
    std::string_view name;
    bool system = false;
  };
  static Marker marker_in(std::string_view line) {
    const auto end = std::min(line.rfind('"'), line.size());
    return {line.substr(0, end).substr(std::min(line.find('"'), end)), line.find(" 3", end) != std::string_view::npos};
  }

  /// Whether the next marker continues the user's file: GCC marks what a system header's macro stands for there, too.
  bool file_goes_on(std::size_t at) const {
    const auto next = text_.find("\n# ", at);
    if (next == std::string_view::npos) return false;
    const Marker marker = marker_in(text_.substr(next + 1, text_.find('\n', next + 1) - next - 1));
    return marker.name == users_file_ && !marker.system;
  }

  void directive() {
    const auto end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    auto digit = line.find_first_not_of(' ', 1);
    const bool marker = digit != std::string_view::npos && std::isdigit(static_cast<unsigned char>(line[digit]));
    if (marker) {
      const Marker here = marker_in(line);
      system_ = here.system && !(here.name == users_file_ && file_goes_on(end));
      if (!system_) users_file_ = here.name;
      at_ = end;
    } else if (system_) {
      at_ = end;
    } else {
      add(Token::directive, end);
    }
  }

  void token() {
    // A preprocessing number, a word that may begin a raw string, a literal that may lack its end.
    static const RE2 form(
        R"((\.?[0-9](?:[eEpP][-+]|'[\w$\x80-\xff]|[\w.$\x80-\xff])*)|([\w$\x80-\xff]+)|("(?:\\(?s:.)|[^"\\\n])*"?|'(?:\\(?s:.)|[^'\\\n])*'?))",
        RE2::Latin1);
    const std::string_view rest = text_.substr(at_);
    re2::StringPiece number, word, literal;
    re2::StringPiece input(rest.data(), rest.size());
    if (!RE2::Consume(&input, form, &number, &word, &literal)) return add(Token::punctuation, at_ + 1);
    const std::size_t end = text_.size() - input.size();
    if (!word.empty() && word.ends_with("R") && input.starts_with("\"")) return raw_string(end);
    add(!number.empty() ? Token::number : !word.empty() ? Token::identifier : Token::literal, end);
  }

  void raw_string(std::size_t quote) {
    const auto open = text_.find('(', quote);
    if (open == std::string_view::npos) return add(Token::literal, text_.size());
    std::string close = ")";
    close += text_.substr(quote + 1, open - quote - 1);
    close += '"';
    const auto end = text_.find(close, open);
    add(Token::literal, end == std::string_view::npos ? text_.size() : end + close.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_start_ = true, system_ = false;
  std::string_view users_file_;  ///< the last one
  std::vector<Token> tokens_;
};

/// The user's tokens of a preprocessed text, and changes to make. Text between changed tokens (blanks, newlines, line
/// markers) is kept. The text is not owned. An index beyond the last token is an empty token.
class TokenEdits {
 public:
  explicit TokenEdits(std::string_view text) : text_(text), tokens_(user_tokens(text)) {}

  std::size_t size() const noexcept { return tokens_.size(); }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }
  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  bool is_identifier(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == Token::identifier; }
  /// The bracket that closes the one at i, or the last token.
  std::size_t closing(std::size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != Token::punctuation) continue;
      const char c = tokens_[i].text[0];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
    }
    return tokens_.size() - 1;
  }
  /// The ( that the ) at i closes, or 0.
  std::size_t opening(std::size_t i) const {
    for (int depth = 0;; --i) {
      if (is(i, ")")) ++depth;
      if (is(i, "(") && --depth == 0) return i;
      if (i == 0) return 0;
    }
  }
  /// The > that closes the < at i, or `end`.
  std::size_t past_template(std::size_t i, std::size_t end) const {
    for (int depth = 0; i < end; ++i) {
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) return i;
    }
    return i;
  }
  /// The last token of `alignas(16)` or `__attribute__((..))` at i; i itself if no bracket follows.
  std::size_t end_of_call(std::size_t i) const { return is(i + 1, "(") ? closing(i + 1) : i; }

  void replace(std::size_t i, std::string by) {
    edits_.push_back({offset_of(i), tokens_[i].text.size(), std::move(by)});
  }
  void insert_before(std::size_t i, std::string what) { edits_.push_back({offset_of(i), 0, std::move(what)}); }
  void erase(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) replace(i, "");
  }
  /// The text with all changes made.
  std::string apply() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
    std::string result;
    result.reserve(text_.size() + edits_.size() * 32);
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      if (edit.offset < at) continue;  // a token changed twice, which happens only in an invalid program
      result += text_.substr(at, edit.offset - at);
      result += edit.replacement;
      at = edit.offset + edit.length;
    }
    result += text_.substr(at);
    edits_.clear();
    return result;
  }

 private:
  struct Edit {
    std::size_t offset, length;
    std::string replacement;
  };
  std::size_t offset_of(std::size_t i) const { return static_cast<std::size_t>(tokens_[i].text.data() - text_.data()); }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<Edit> edits_;
};

struct SharedPlace {
  bool at_namespace_scope = false;
  bool sanitize = false;  ///< RewriteOptions::sanitize
};

bool is_specifier(std::string_view word) {
  return word == "static" || word == "extern" || word == "const" || word == "volatile" || word == "inline";
}

/// The declaration around the `__shared__` at token i.
class SharedDeclaration {
 public:
  SharedDeclaration(TokenEdits& text, std::size_t i, const SharedPlace& place)
      : text_(text), place_(place), i_(i), first_(i) {}

  /// Rewrites it; returns the last token that it has processed.
  std::size_t run() {
    if (!find()) return i_;
    if (is_extern_) {
      dynamic_shared();
      return end_;
    }
    if (!place_.sanitize || !guarded_shared()) static_shared();
    return i_;
  }

 private:
  /// Finds the range from the first specifier before __shared__ to the semicolon.
  bool find() {
    while (first_ > 0) {
      const std::size_t before = first_ - 1;
      if (is_specifier(text_[before].text)) {
        note(before);
        first_ = before;
        continue;
      }
      if (!text_.is(before, ")")) break;
      const std::size_t open = text_.opening(before);
      if (open == 0 || !(text_.is(open - 1, "alignas") || text_.is(open - 1, "__attribute__"))) break;
      first_ = open - 1;
    }
    for (end_ = i_ + 1; end_ < text_.size() && !text_.is(end_, ";"); ++end_) {
      note(end_);
      if (text_.is(end_, "{") || text_.is(end_, "(")) end_ = text_.closing(end_);
    }
    return end_ < text_.size();
  }
  void note(std::size_t k) {
    is_extern_ = is_extern_ || text_.is(k, "extern");
    is_static_ = is_static_ || text_.is(k, "static");
  }

  /// alignas must precede the words that the declaration now begins with.
  void static_shared() {
    std::string hoisted;
    for (std::size_t k = i_ + 1; k < end_; ++k) {
      if (text_.is(k, "alignas")) {
        const std::size_t last = text_.end_of_call(k);
        for (std::size_t word = k; word <= last; ++word) hoisted += std::string(text_[word].text) + " ";
        text_.erase(k, last);
        k = last;
      } else if (text_.is(k, "__attribute__")) {
        k = text_.end_of_call(k);
      } else if (!is_specifier(text_[k].text)) {
        break;
      }
    }
    if (!hoisted.empty()) text_.insert_before(first_, hoisted);
    text_.replace(i_, std::string(is_static_ ? "" : "static ") + (place_.sanitize ? "" : "thread_local"));
  }

  /// __shared__ float a[4], b;  ->  typedef float xtune_shared_a[4], xtune_shared_b; static auto &a = .., &b = ..;
  /// Returns false, without changes, for declarators of an unsupported form.
  bool guarded_shared() {
    std::vector<std::size_t> names;
    bool named = false;  // the current declarator's name was read
    for (std::size_t k = i_ + 1; k <= end_; ++k) {
      if (text_.is(k, "<")) {
        k = text_.past_template(k, end_);
      } else if (text_.is(k, "(") || text_.is(k, "{")) {
        k = text_.closing(k);
      } else if (text_.is(k, "[") || text_.is(k, ",") || text_.is(k, ";")) {
        if (!named && !text_.is_identifier(k - 1)) return false;
        if (!named) names.push_back(k - 1);
        named = text_.is(k, "[");
        if (named) k = text_.closing(k);
      }
    }
    drop_specifiers();
    text_.replace(i_, "typedef");
    std::string references;
    for (const std::size_t name : names) {
      const std::string word(text_[name].text), type = "xtune_shared_" + word;
      references += (references.empty() ? " static auto &" : ", &") + word + " = xtune_guarded_shared<" + type + ">()";
      text_.replace(name, type);
    }
    text_.insert_before(end_, ";" + references);
    return true;
  }

  /// extern __shared__ float a[], b[][4];  ->  float (*const a) = .., (*const b)[4] = ..;
  void dynamic_shared() {
    drop_specifiers();
    text_.replace(i_, place_.at_namespace_scope ? "static thread_local" : "");
    for (std::size_t k = i_ + 1; k < end_; ++k) {
      if (text_.is(k, "<")) {
        k = text_.past_template(k, end_);
      } else if (text_.is(k, "(")) {
        k = text_.closing(k);
      } else if (text_.is(k, "[") && text_.is_identifier(k - 1)) {
        const std::size_t name = k - 1, bracket = text_.closing(k);
        text_.insert_before(name, "(*const ");
        text_.replace(k, ")");
        text_.erase(k + 1, bracket);
        k = bracket;
        while (k + 1 < end_ && text_.is(k + 1, "[")) k = text_.closing(k + 1);
        if (k + 1 <= end_) text_.insert_before(k + 1, " = XtuneDynamicShared()");
      }
    }
  }

  /// Removes specifiers that a typedef or a pointer cannot have. The memory is aligned for any type.
  void drop_specifiers() {
    for (std::size_t k = first_; k < end_; ++k) {
      if (text_.is(k, "alignas")) {
        const std::size_t last = text_.end_of_call(k);
        text_.erase(k, last);
        k = last;
      } else if (text_.is(k, "extern") || text_.is(k, "static") || text_.is(k, "inline")) {
        text_.replace(k, "");
      }
    }
  }

  TokenEdits& text_;
  SharedPlace place_;
  std::size_t i_, first_, end_ = 0;  ///< __shared__, the first word, the semicolon
  bool is_extern_ = false, is_static_ = false;
};

constexpr std::string_view waiting_prefixes[] = {"__syncthreads", "__syncwarp",  "__shfl",    "__ballot",
                                                 "__activemask",  "__nanosleep", "__reduce_", "__match_"};
constexpr std::string_view waiting_names[] = {
    "__any", "__any_sync", "__all", "__all_sync",
    // Of <xtune/portable.cuh>, which is a system header here: its own text does not count.
    "shuffle", "shuffle_down", "shuffle_up", "shuffle_xor", "ballot", "sync_lanes"};

bool waits(std::string_view name) {
  return std::any_of(std::begin(waiting_prefixes), std::end(waiting_prefixes),
                     [&](auto p) { return name.starts_with(p); }) ||
         std::find(std::begin(waiting_names), std::end(waiting_names), name) != std::end(waiting_names);
}

class Rewriter {
 public:
  Rewriter(std::string_view text, const RewriteOptions& options) : text_(text), options_(options) {}

  Rewritten run() {
    Rewritten result;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const Token& token = text_[i];
      if (token.kind == Token::directive) {
        unroll(i);
      } else if (token.kind == Token::punctuation) {
        scope(i);
      } else if (token.kind == Token::identifier) {
        result.uses_fibers = result.uses_fibers || waits(token.text);
        if (token.text == "__shared__")
          i = SharedDeclaration(text_, i, {at_namespace_scope(), options_.sanitize}).run();
        else if (token.text == "__noinline__" && !(i >= 2 && text_.is(i - 1, "(") && text_.is(i - 2, "(")))
          text_.replace(i, "__attribute__((noinline))");
      }
    }
    result.text = text_.apply();
    result.uses_hopper = result.text.find("xtune_host_hopper.h\"") != std::string::npos;
    result.uses_fibers = result.uses_fibers || result.uses_hopper;
    return result;
  }

 private:
  // Braces of namespaces and extern "C" do not leave namespace scope.
  void scope(std::size_t i) {
    const char c = text_[i].text[0];
    if (c == '}' && !transparent_.empty()) transparent_.pop_back();
    if (c != '{') return;
    bool transparent = false;
    for (std::size_t back = i; back-- > 0;) {
      const std::string_view word = text_[back].text;
      if (text_[back].kind == Token::punctuation && (word == ";" || word == "{" || word == "}" || word == ")")) break;
      transparent = transparent || word == "namespace" || (word == "extern" && text_[back + 1].kind == Token::literal);
    }
    transparent_.push_back(transparent);
  }
  bool at_namespace_scope() const {
    return std::all_of(transparent_.begin(), transparent_.end(), [](bool t) { return t; });
  }

  // A pragma without a count is for loops of any length. If GCC cannot count the iterations it uses the number as the
  // factor, so it is kept small.
  void unroll(std::size_t i) {
    if (!options_.gcc) return;
    const std::string_view line = text_[i].text;
    std::vector<std::string_view> words;
    const std::string_view blanks = " \t()#";
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;
         at = line.find_first_not_of(blanks, at)) {
      const auto stop = std::min(line.find_first_of(blanks, at), line.size());
      words.push_back(line.substr(at, stop - at));
      at = stop;
    }
    if (words.size() < 2 || words[0] != "pragma" || words[1] != "unroll" || words.size() > 3) return;
    int count = 16;
    if (words.size() == 3) {
      const auto [stop, failed] = std::from_chars(words[2].data(), words[2].data() + words[2].size(), count);
      if (failed != std::errc() || stop != words[2].data() + words[2].size() || count < 0 || count > 65534) return;
    }
    text_.replace(i, "#pragma GCC unroll " + std::to_string(count));
  }

  TokenEdits text_;
  RewriteOptions options_;
  std::vector<bool> transparent_;  ///< for each open brace: whether it is of a namespace or extern "C"
};

}  // namespace

std::vector<Token> user_tokens(std::string_view preprocessed) { return Lexer(preprocessed).run(); }

Rewritten rewrite(std::string_view preprocessed, const RewriteOptions& options) {
  return Rewriter(preprocessed, options).run();
}

bool mentions(std::string_view preprocessed, std::string_view identifier) {
  const auto tokens = user_tokens(preprocessed);
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const Token& t) { return t.kind == Token::identifier && t.text == identifier; });
}

}  // namespace xtune::host
