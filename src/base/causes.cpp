// Reduces a warning to its cause: replaces the words that name a place.
#include "base/causes.hpp"

#include <algorithm>

namespace xtune::base {
namespace {

constexpr std::size_t hash_digits = 32;  // an artifact's key has 64, a directory's name has fewer

bool says_where(std::string_view word) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return word.find('/') != std::string_view::npos || word.find(".jsonl") != std::string_view::npos ||
         (word.size() >= hash_digits && std::all_of(word.begin(), word.begin() + hash_digits, is_hex));
}

}  // namespace

std::string cause_of(std::string_view warning) {
  std::string cause;
  while (!warning.empty()) {
    const std::string_view word = warning.substr(0, warning.find(' '));
    if (says_where(word)) {
      cause += '*';
    } else {
      for (const char c : word) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit)
          cause += c;
        else if (cause.empty() || cause.back() != '#')
          cause += '#';
      }
    }
    cause += ' ';
    warning.remove_prefix(std::min(word.size() + 1, warning.size()));
  }
  return cause;
}

std::string Cause::text() const { return count == 1 ? first : first + " (" + std::to_string(count) + " times)"; }

bool Causes::add(const std::string& warning) {
  std::string cause = cause_of(warning);
  const auto known =
      std::find_if(causes_.begin(), causes_.end(), [&](const Cause& other) { return other.cause == cause; });
  if (known != causes_.end()) return ++known->count, false;
  causes_.push_back({std::move(cause), warning});
  return true;
}

}  // namespace xtune::base
