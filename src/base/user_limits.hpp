// Resource limits of this process that may make fail what would succeed without them (ulimit, setrlimit).
#pragma once

#include <cstdint>
#include <string>

namespace xtune::base {

/// "a limit on CPU time (ulimit -t)", several with "and": the finite ones of CPU time, file size, data and address
/// space, and of the stack one below 8 MiB. Children inherit them. Empty: none. The limit of limit_address_space does
/// not count.
std::string user_limits();

/// Limits this process' address space to so many bytes. A lower limit that cannot be raised stays, and counts as the
/// user's.
void limit_address_space(std::uint64_t bytes);

}  // namespace xtune::base
