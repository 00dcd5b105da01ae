// Steps over JSON text without decoding it or making a tree of it.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace xtune::store {

/// A step that does not find its token returns false and does not advance.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool ended() const { return at_ == end_; }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  bool next_is(char c) const { return at_ != end_ && *at_ == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  bool take_through(const char* last) { return at_ = last + 1, true; }

  /// Takes a string without its quotes; escapes are not decoded.
  bool take_string(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    while (const char* const quote = find('"')) {
      at_ = quote + 1;
      const char* backslash = quote;
      while (backslash != begin && backslash[-1] == '\\') --backslash;
      if ((quote - backslash) % 2 == 0) {
        text = {begin, static_cast<std::size_t>(quote - begin)};
        return true;
      }
    }
    return false;
  }

  /// Takes any value, as its text with quotes and brackets.
  bool take_value(std::string_view& text) {
    if (at_ == end_) return false;
    const char* const begin = at_;
    std::string_view ignored;
    const bool taken = *at_ == '"' ? take_string(ignored) : *at_ == '{' || *at_ == '[' ? skip_brackets() : skip_word();
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return taken;
  }

  /// The next occurrence of this character, or null.
  const char* find(char c) const {
    return static_cast<const char*>(std::memchr(at_, c, static_cast<std::size_t>(end_ - at_)));
  }

 private:
  bool skip_word() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']') ++at_;
    return at_ != begin;
  }

  bool skip_brackets() {
    // A list of numbers, such as the samples, contains no bracket.
    if (*at_ == '[' && at_ + 1 != end_ && (at_[1] == '-' || (at_[1] >= '0' && at_[1] <= '9'))) {
      const char* const close = find(']');
      return close && take_through(close);
    }
    std::string_view ignored;
    for (int depth = 0; at_ != end_;) {
      const char c = *at_;
      if (c == '"') {
        if (!take_string(ignored)) return false;
        continue;
      }
      ++at_;
      depth += c == '{' || c == '[';
      depth -= c == '}' || c == ']';
      if (depth == 0) return true;
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

/// Text that needs no decoding, so that equal texts are equal values: ASCII without escapes or control characters.
inline bool is_plain(std::string_view text) {
  bool plain = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    plain = plain & (byte >= 0x20) & (byte < 0x7F) & (byte != '\\');
  }
  return plain;
}

/// Walks the members of a flat JSON object of plain texts: a value is a string's text (then is_text), or the JSON text
/// of a number, true, false or null. False: it is not such an object, or visit(name, value, is_text) returned false.
template <class Visit>
bool visit_members(std::string_view object, const Visit& visit) {
  if (!is_plain(object)) return false;
  JsonWalk walk(object);
  if (!walk.take('{')) return false;
  for (std::string_view name, value; !walk.take('}'); walk.take(',')) {
    if (!walk.take_string(name) || !walk.take(':')) return false;
    const bool is_text = walk.next_is('"');
    if (is_text ? !walk.take_string(value) : walk.next_is('{') || walk.next_is('[') || !walk.take_value(value))
      return false;
    if (!walk.next_is(',') && !walk.next_is('}')) return false;
    if (!visit(name, value, is_text)) return false;
  }
  return walk.ended();
}

/// Walks [["name","value"],...] with visit(name, value), the value as its JSON text. False: it is not such a list.
template <class Visit>
bool visit_pairs(std::string_view list, const Visit& visit) {
  JsonWalk walk(list);
  if (!walk.take('[')) return false;
  for (std::string_view name, value; !walk.take(']'); walk.take(',')) {
    if (!walk.take('[') || !walk.take_string(name) || !walk.take(',') || !walk.next_is('"') ||
        !walk.take_value(value) || !walk.take(']') || (!walk.next_is(',') && !walk.next_is(']')))
      return false;
    visit(name, value);
  }
  return walk.ended();
}

}  // namespace xtune::store
