// The main program of every test executable. Both names: a precompiled header has had doctest's first half before.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

namespace {
// What runs beside a test is not to taint its measurements; ctest sets it for all tests.
[[maybe_unused]] const int said_quiet = setenv("XTUNE_BUSY", "no", 0);
}  // namespace
