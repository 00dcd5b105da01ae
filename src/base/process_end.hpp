// How the end of a process reads in a message.
#pragma once

#include <string>
#include <string_view>

namespace xtune::base {

/// describe_exit as the predicate of a sentence, and what the process said, if anything: "ended with exit code 2: no
/// such file", "was killed by signal 11 (segmentation fault)".
std::string describe_end(int exit_code, int signal, std::string_view words = {});

/// Ends a message about an end if comes_from_others.
inline constexpr const char* not_from_xtune = " (xtune did not send the signal)";

}  // namespace xtune::base
