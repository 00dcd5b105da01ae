// Names of error kinds and outcomes.
#include "xtune/error.hpp"

#include "base/named.hpp"
#include "xtune/outcome.hpp"

namespace xtune {

namespace {
constexpr auto kind_words = base::enum_words<ErrorKind>("invalid_spec", "invalid_argument", "unavailable",
                                                        "unsupported", "nothing_valid", "io", "interrupted");
constexpr auto outcome_words = base::enum_words<Outcome>("ok", "rejected", "compile_failed", "launch_failed",
                                                         "wrong_result", "timed_out", "crashed", "pruned");
}  // namespace

const char* to_string(ErrorKind kind) noexcept { return kind_words.of(kind); }

const char* to_string(Outcome outcome) noexcept { return outcome_words.of(outcome); }
std::optional<Outcome> outcome_from_string(std::string_view name) noexcept { return outcome_words.find(name); }

}  // namespace xtune
