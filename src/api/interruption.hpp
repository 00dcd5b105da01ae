// Exceptions of callbacks that end a run.
#pragma once

#include <exception>

#include "xtune/error.hpp"

namespace xtune {

/// In the handler of an exception: throws it on if it is an Error(interrupted), which leaves the run.
inline void pass_interruption(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own && own->kind() == ErrorKind::interrupted) throw;
}

}  // namespace xtune
