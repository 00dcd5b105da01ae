// Limits as a shell sets them, in separate processes.
#include <doctest/doctest.h>

#include "fakes/limited_child.hpp"
#include "system/machine.hpp"

using namespace xtune::system;

using namespace xtune;
using fakes::under_limit;

TEST_CASE("A finite limit is named, and a stack that is as large as usual is none") {
  CHECK(under_limit(RLIMIT_CPU, 1000, user_limits).find("a limit on CPU time (ulimit -t)") != std::string::npos);
  CHECK(under_limit(RLIMIT_FSIZE, rlim_t{1} << 30, user_limits).find("file size (ulimit -f)") != std::string::npos);
  CHECK(under_limit(RLIMIT_DATA, rlim_t{1} << 40, user_limits).find("data (ulimit -d)") != std::string::npos);
  CHECK(under_limit(RLIMIT_STACK, rlim_t{1} << 20, user_limits).find("the stack (ulimit -s)") != std::string::npos);
  CHECK(under_limit(RLIMIT_STACK, rlim_t{8} << 20, user_limits).find("stack") == std::string::npos);
  CHECK(under_limit(RLIMIT_CORE, 0, user_limits) == user_limits());
}

#ifndef XTUNE_SANITIZED  // sanitizers map terabytes
TEST_CASE("xtune's own limit of the address space is not the user's") {
  constexpr rlim_t bytes = rlim_t{1} << 50;
  CHECK(under_limit(RLIMIT_AS, bytes, user_limits).find("address space (ulimit -v)") != std::string::npos);
  CHECK(under_limit(RLIMIT_CORE, 0, [] {
          limit_address_space(bytes / 2);
          return user_limits();
        }) == user_limits());
}
#endif
