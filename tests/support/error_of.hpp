// The message of an error of an expected kind.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "xtune/error.hpp"

namespace xtune::test {

/// What call() throws, an Error of this kind; empty if it throws nothing.
template <class Call>
std::string error_of(const Call& call, ErrorKind kind) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "";
}

}  // namespace xtune::test
