// Collects edits and applies them in order.
#include "backends/host/token_edits.hpp"

#include <algorithm>

namespace xtune::host {

std::size_t TokenEdits::closing(std::size_t i) const {
  int depth = 0;
  for (; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Token::punctuation) continue;
    const char c = tokens_[i].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return tokens_.size() - 1;
}

std::size_t TokenEdits::opening(std::size_t i) const {
  for (int depth = 0;; --i) {
    if (is(i, ")")) ++depth;
    if (is(i, "(") && --depth == 0) return i;
    if (i == 0) return 0;
  }
}

std::size_t TokenEdits::past_template(std::size_t i, std::size_t end) const {
  for (int depth = 0; i < end; ++i) {
    if (is(i, "<")) ++depth;
    if (is(i, ">") && --depth == 0) return i;
  }
  return i;
}

void TokenEdits::replace(std::size_t i, std::string by) {
  edits_.push_back({offset_of(i), tokens_[i].text.size(), std::move(by)});
}

void TokenEdits::insert_before(std::size_t i, std::string what) {
  edits_.push_back({offset_of(i), 0, std::move(what)});
}

void TokenEdits::erase(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) replace(i, "");
}

std::string TokenEdits::apply() {
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

}  // namespace xtune::host
