// Edits the text in place, token by token, so that the compiler's messages keep their lines.
#include "backends/host/rewrite.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "backends/host/preprocessed.hpp"

namespace xtune::host {
namespace {

constexpr std::string_view waiting_prefixes[] = {"__syncthreads", "__syncwarp",   "__shfl",
                                                 "__ballot",      "__activemask", "__nanosleep"};
constexpr std::string_view waiting_names[] = {"__any", "__any_sync", "__all", "__all_sync"};

bool waits(std::string_view name) {
  return std::any_of(std::begin(waiting_prefixes), std::end(waiting_prefixes),
                     [&](auto p) { return name.starts_with(p); }) ||
         std::find(std::begin(waiting_names), std::end(waiting_names), name) != std::end(waiting_names);
}

bool is_specifier(std::string_view word) {
  return word == "static" || word == "extern" || word == "const" || word == "volatile" || word == "inline";
}

class Rewriter {
 public:
  Rewriter(std::string_view text, const RewriteOptions& options)
      : text_(text), options_(options), tokens_(user_tokens(text)) {}

  Rewritten run() {
    Rewritten result;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.kind == Token::directive) {
        unroll(token);
      } else if (token.kind == Token::punctuation) {
        scope(i);
      } else if (token.kind == Token::identifier) {
        result.uses_fibers = result.uses_fibers || waits(token.text);
        if (token.text == "__shared__")
          i = shared(i);
        else if (token.text == "__noinline__" && !(i >= 2 && is(i - 1, "(") && is(i - 2, "(")))
          replace(token.text, "__attribute__((noinline))");
      }
    }
    result.text = edited();
    return result;
  }

 private:
  struct Edit {
    std::size_t offset, length;
    std::string replacement;
  };

  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  std::size_t offset_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text_.data()); }
  void replace(std::string_view part, std::string by) {
    edits_.push_back({offset_of(part), part.size(), std::move(by)});
  }
  void insert_before(std::size_t i, std::string what) {
    edits_.push_back({offset_of(tokens_[i].text), 0, std::move(what)});
  }
  /// Keeps newlines and line markers between the tokens.
  void erase(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) replace(tokens_[i].text, "");
  }

  /// The index of the bracket that closes the one at i, or the last token.
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
  std::size_t opening(std::size_t i) const {
    for (int depth = 0;; --i) {
      if (is(i, ")")) ++depth;
      if (is(i, "(") && --depth == 0) return i;
      if (i == 0) return 0;
    }
  }

  // Braces of namespaces and extern "C" leave us at namespace scope.
  void scope(std::size_t i) {
    const char c = tokens_[i].text[0];
    if (c == '}' && !transparent_.empty()) transparent_.pop_back();
    if (c != '{') return;
    bool transparent = false;
    for (std::size_t back = i; back-- > 0;) {
      const std::string_view word = tokens_[back].text;
      if (tokens_[back].kind == Token::punctuation && (word == ";" || word == "{" || word == "}" || word == ")")) break;
      transparent =
          transparent || word == "namespace" || (word == "extern" && tokens_[back + 1].kind == Token::literal);
    }
    transparent_.push_back(transparent);
  }
  bool at_namespace_scope() const {
    return std::all_of(transparent_.begin(), transparent_.end(), [](bool t) { return t; });
  }

  /// The declaration around the __shared__ at i; returns the index to go on after.
  std::size_t shared(std::size_t i) {
    std::size_t first = i;
    bool is_extern = false, is_static = false;
    while (first > 0) {
      const std::size_t before = first - 1;
      if (is_specifier(tokens_[before].text)) {
        is_extern = is_extern || is(before, "extern");
        is_static = is_static || is(before, "static");
        first = before;
      } else if (is(before, ")")) {
        const std::size_t open = opening(before);
        if (open == 0 || !(is(open - 1, "alignas") || is(open - 1, "__attribute__"))) break;
        first = open - 1;
      } else {
        break;
      }
    }
    std::size_t end = i + 1;
    while (end < tokens_.size() && !is(end, ";")) end = is(end, "{") || is(end, "(") ? closing(end) + 1 : end + 1;
    if (end >= tokens_.size()) return i;
    for (std::size_t k = i + 1; k < end; ++k) {
      is_extern = is_extern || is(k, "extern");
      is_static = is_static || is(k, "static");
    }
    if (is_extern)
      dynamic_shared(first, i, end);
    else if (!options_.sanitize || !guarded_shared(first, i, end))
      static_shared(first, i, is_static);
    return is_extern ? end : i;
  }

  /// alignas must stand before the words that the declaration now begins with; the dynamic memory is aligned for any
  /// type.
  void static_shared(std::size_t first, std::size_t i, bool is_static) {
    std::string hoisted;
    std::size_t next = i + 1;
    while (is_specifier(tokens_[next].text) || is(next, "alignas") || is(next, "__attribute__")) {
      if (is_specifier(tokens_[next].text)) {
        ++next;
        continue;
      }
      const std::size_t last = closing(next + 1);
      if (is(next, "alignas")) {
        for (std::size_t k = next; k <= last; ++k) hoisted += std::string(tokens_[k].text) + " ";
        erase(next, last);
      }
      next = last + 1;
    }
    if (!hoisted.empty()) insert_before(first, hoisted);
    replace(tokens_[i].text, std::string(is_static ? "" : "static ") + (options_.sanitize ? "" : "thread_local"));
  }

  /// __shared__ float a[4], b;  ->  typedef float xtune_shared_a[4], xtune_shared_b; static auto &a = .., &b = ..;
  /// False, and nothing done, when the declarators are of a shape that this does not read.
  bool guarded_shared(std::size_t first, std::size_t i, std::size_t end) {
    std::vector<std::size_t> names;
    bool named = false;  // the current declarator's name has been seen
    for (std::size_t k = i + 1; k <= end; ++k) {
      if (is(k, "<")) {
        k = past_template(k, end);
      } else if (is(k, "(") || is(k, "{")) {
        k = closing(k);
      } else if (is(k, "[") || is(k, ",") || is(k, ";")) {
        if (!named && tokens_[k - 1].kind != Token::identifier) return false;
        if (!named) names.push_back(k - 1);
        named = is(k, "[");
        if (named) k = closing(k);
      }
    }
    for (std::size_t k = first; k < end; ++k) {
      if (is(k, "alignas")) {
        const std::size_t last = closing(k + 1);
        erase(k, last);
        k = last;
      } else if (is(k, "static") || is(k, "inline")) {
        replace(tokens_[k].text, "");
      }
    }
    replace(tokens_[i].text, "typedef");
    std::string references;
    for (const std::size_t name : names) {
      const std::string type = "xtune_shared_" + std::string(tokens_[name].text);
      references += std::string(references.empty() ? " static auto &" : ", &") + std::string(tokens_[name].text) +
                    " = xtune_guarded_shared<" + type + ">()";
      replace(tokens_[name].text, type);
    }
    insert_before(end, ";" + references);
    return true;
  }

  /// extern __shared__ float a[], b[][4];  ->  float (*const a) = .., (*const b) [4] = ..;
  void dynamic_shared(std::size_t first, std::size_t i, std::size_t end) {
    for (std::size_t k = first; k < end; ++k) {
      if (is(k, "alignas") && k + 1 < end) {
        const std::size_t last = closing(k + 1);
        erase(k, last);
        k = last;
      } else if (is(k, "extern") || is(k, "static") || is(k, "inline") || k == i) {
        replace(tokens_[k].text, k == i && at_namespace_scope() ? "static thread_local" : "");
      }
    }
    const std::string value = " = XtuneDynamicShared()";
    for (std::size_t k = i + 1; k < end; ++k) {
      if (is(k, "<") || is(k, "(")) {
        k = is(k, "(") ? closing(k) : past_template(k, end);
        continue;
      }
      if (!is(k, "[") || tokens_[k - 1].kind != Token::identifier) continue;
      const std::size_t name = k - 1, bracket = closing(k);
      insert_before(name, "(*const ");
      replace(tokens_[k].text, ")");
      erase(k + 1, bracket);
      k = bracket;
      while (k + 1 < end && is(k + 1, "[")) k = closing(k + 1);
      insert_before(k + 1, value);
    }
  }
  std::size_t past_template(std::size_t i, std::size_t end) const {
    for (int depth = 0; i < end; ++i) {
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) return i;
    }
    return i;
  }

  // Without a count, loops of any length are meant; GCC takes the number as a factor where it cannot count, so it is
  // kept small.
  void unroll(const Token& token) {
    if (!options_.gcc) return;
    std::string_view line = token.text;
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
    replace(line, "#pragma GCC unroll " + std::to_string(count));
  }

  std::string edited() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
    std::string result;
    result.reserve(text_.size() + edits_.size() * 32);
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      result += text_.substr(at, edit.offset - at);
      result += edit.replacement;
      at = edit.offset + edit.length;
    }
    result += text_.substr(at);
    return result;
  }

  std::string_view text_;
  RewriteOptions options_;
  std::vector<Token> tokens_;
  std::vector<bool> transparent_;
  std::vector<Edit> edits_;
};

}  // namespace

Rewritten rewrite(std::string_view preprocessed, const RewriteOptions& options) {
  return Rewriter(preprocessed, options).run();
}

bool mentions(std::string_view preprocessed, std::string_view identifier) {
  const auto tokens = user_tokens(preprocessed);
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const Token& t) { return t.kind == Token::identifier && t.text == identifier; });
}

}  // namespace xtune::host
