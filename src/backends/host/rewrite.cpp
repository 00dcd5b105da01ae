// Edits the text in place, token by token, so that the compiler's messages keep their lines.
#include "backends/host/rewrite.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "backends/host/shared_variables.hpp"
#include "backends/host/token_edits.hpp"

namespace xtune::host {
namespace {

constexpr std::string_view waiting_prefixes[] = {"__syncthreads", "__syncwarp",   "__shfl",
                                                 "__ballot",      "__activemask", "__nanosleep"};
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
          i = rewrite_shared(text_, i, {at_namespace_scope(), options_.sanitize});
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

Rewritten rewrite(std::string_view preprocessed, const RewriteOptions& options) {
  return Rewriter(preprocessed, options).run();
}

bool mentions(std::string_view preprocessed, std::string_view identifier) {
  const auto tokens = user_tokens(preprocessed);
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const Token& t) { return t.kind == Token::identifier && t.text == identifier; });
}

}  // namespace xtune::host
