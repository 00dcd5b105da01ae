// Reduces a warning to its cause: replaces the words that name a place.
#include "base/causes.hpp"

#include <re2/re2.h>

#include <algorithm>

namespace xtune::base {

std::string cause_of(std::string_view warning) {
  // An artifact's key has 64 hexadecimal digits, a directory's name has fewer.
  static const RE2 place("[^ ]*(?:/|\\.jsonl)[^ ]*|\\b[0-9a-f]{32}[^ ]*", RE2::Latin1), number("[0-9]+", RE2::Latin1);
  std::string cause(warning);
  RE2::GlobalReplace(&cause, place, "*");
  RE2::GlobalReplace(&cause, number, "#");
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
