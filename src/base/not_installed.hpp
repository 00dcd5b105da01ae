// What is missing because nobody installed it, as opposed to what failed.
#pragma once

#include <string>

#include "xtune/error.hpp"

namespace xtune::base {

/// What was looked for is in none of the places: only a change of the machine or its environment cures that, so that
/// the answer may be remembered. Any other Error(unavailable) may be gone the next time.
class NotInstalled : public Error {
 public:
  explicit NotInstalled(const std::string& message) : Error(ErrorKind::unavailable, message) {}
};

/// Throws Error(unavailable) with this message, as NotInstalled where `error` is.
[[noreturn]] inline void throw_with_message(const Error& error, const std::string& message) {
  if (dynamic_cast<const NotInstalled*>(&error) != nullptr) throw NotInstalled(message);
  throw Error(ErrorKind::unavailable, message);
}

}  // namespace xtune::base
