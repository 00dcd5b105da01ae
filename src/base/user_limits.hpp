// Resource limits of this process that may cause failures (ulimit, setrlimit).
#pragma once

#include <cstdint>
#include <string>

namespace xtune::base {

/// The finite limits on CPU time, file size, data and address space, and one on the stack below 8 MiB: "a limit on CPU
/// time (ulimit -t)", several joined by "and". Children inherit them. Empty: no limits. The limit of
/// limit_address_space does not count.
std::string user_limits();

/// Limits this process's address space to `bytes`. A lower limit that cannot be raised stays, and counts as the user's.
void limit_address_space(std::uint64_t bytes);

}  // namespace xtune::base
