// How many compilers run at once.
#pragma once

#include <cstddef>
#include <string>

namespace xtune::ipc {

/// The maximum number of compilers at once, at least 1, from the first of these that is not empty: `given`, which is
/// the value of --jobs; XTUNE_JOBS; "auto".
///
///     "16"          a count
///     "0.5"         a fraction of the usable cores, at most 1, which contains a point
///     "0.9:32"      a fraction, but at most 32
///     "auto", "-1"  0.9 of the usable cores
///
/// If this process may use every core of the machine, and `sharing` - 1 others may as well, the usable cores are its
/// share of them. Throws Error(invalid_argument) that names the option or the variable.
std::size_t job_count(const std::string& given = {}, int sharing = 1);

}  // namespace xtune::ipc
