// The message of an input or output failure.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "xtune/error.hpp"

namespace xtune::fakes {

/// The message of the Error(io) that this must end in, else "no error".
template <class Function>
std::string io_error(Function function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    return error.what();
  }
  return "no error";
}

}  // namespace xtune::fakes
