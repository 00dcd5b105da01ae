// A warning's place is what stands before its first ": " and has a slash.
#include "dispatch/causes.hpp"

#include <algorithm>

namespace xtune::dispatch {

std::string cause_of(std::string_view warning) {
  const auto colon = warning.find(": ");
  if (colon != std::string_view::npos && warning.substr(0, colon).find('/') != std::string_view::npos)
    warning.remove_prefix(colon + 2);
  std::string cause;
  for (const char c : warning) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      cause += c;
    else if (cause.empty() || cause.back() != '#')
      cause += '#';
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

}  // namespace xtune::dispatch
