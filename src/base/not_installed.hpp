// Errors for things that are not installed, as opposed to things that failed.
#pragma once

#include <string>

#include "xtune/error.hpp"

namespace xtune::base {

/// The library or program is in none of the places where it was searched. Only a change of the machine or its
/// environment helps, so the answer may be remembered. The cause of any other Error(unavailable) may be gone the next
/// time.
class NotInstalled : public Error {
 public:
  explicit NotInstalled(const std::string& message) : Error(ErrorKind::unavailable, message) {}
};

/// Throws Error(unavailable) with this message, as NotInstalled if `error` is one.
[[noreturn]] inline void throw_with_message(const Error& error, const std::string& message) {
  if (dynamic_cast<const NotInstalled*>(&error) != nullptr) throw NotInstalled(message);
  throw Error(ErrorKind::unavailable, message);
}

}  // namespace xtune::base
