// Reads getrlimit(2).
#include "base/user_limits.hpp"

#include <sys/resource.h>

namespace xtune::base {
namespace {

// The default of Linux, on which programs rely.
constexpr rlim_t usual_stack_bytes = rlim_t{8} << 20;

bool own_address_space = false;

struct Limit {
  decltype(RLIMIT_CPU) resource;
  const char* text;
  rlim_t enough;
};

}  // namespace

std::string user_limits() {
  const Limit limits[] = {{RLIMIT_CPU, "CPU time (ulimit -t)", RLIM_INFINITY},
                          {RLIMIT_FSIZE, "file size (ulimit -f)", RLIM_INFINITY},
                          {RLIMIT_DATA, "data (ulimit -d)", RLIM_INFINITY},
                          {RLIMIT_AS, "address space (ulimit -v)", RLIM_INFINITY},
                          {RLIMIT_STACK, "the stack (ulimit -s)", usual_stack_bytes}};
  std::string text;
  for (const Limit& limit : limits) {
    rlimit now{};
    if (limit.resource == RLIMIT_AS && own_address_space) continue;
    if (getrlimit(limit.resource, &now) != 0 || now.rlim_cur >= limit.enough) continue;
    text += (text.empty() ? "a limit on " : " and on ") + std::string(limit.text);
  }
  return text;
}

void limit_address_space(std::uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  own_address_space = setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace xtune::base
