// How the attempt to compile, run and validate one configuration ended.
#pragma once

#include <optional>
#include <string_view>

namespace xtune {

/// How a configuration ended. A failed configuration is data: it is recorded with its outcome, and the search
/// continues.
enum class Outcome {
  ok,              ///< measured and validated
  rejected,        ///< a constraint or resource limit forbids it; the message names the limit
  compile_failed,  ///< the compiler refused it; the log has the reason
  launch_failed,   ///< the driver refused to load or launch it
  wrong_result,    ///< it ran, and its outputs differ from the reference
  timed_out,       ///< compiling or running exceeded its time limit
  crashed,         ///< the compiler or the kernel crashed its worker process
  pruned,          ///< slower than another in the race: its time is a lower bound; not a failure
};

const char* to_string(Outcome outcome) noexcept;                             ///< its name, as above
std::optional<Outcome> outcome_from_string(std::string_view name) noexcept;  ///< nothing for other names

}  // namespace xtune
