// Names of error kinds and outcomes.
#include "xtune/error.hpp"

#include <array>
#include <utility>

#include "xtune/outcome.hpp"

namespace xtune {

const char* to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_spec:
      return "invalid_spec";
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::nothing_valid:
      return "nothing_valid";
    case ErrorKind::io:
      return "io";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "unknown";
}

namespace {
constexpr std::array<std::pair<Outcome, const char*>, 8> outcome_names{{
    {Outcome::ok, "ok"},
    {Outcome::rejected, "rejected"},
    {Outcome::compile_failed, "compile_failed"},
    {Outcome::launch_failed, "launch_failed"},
    {Outcome::wrong_result, "wrong_result"},
    {Outcome::timed_out, "timed_out"},
    {Outcome::crashed, "crashed"},
    {Outcome::pruned, "pruned"},
}};
}  // namespace

const char* to_string(Outcome outcome) noexcept {
  for (const auto& [value, name] : outcome_names)
    if (value == outcome) return name;
  return "unknown";
}

std::optional<Outcome> outcome_from_string(std::string_view name) noexcept {
  for (const auto& [value, text] : outcome_names)
    if (name == text) return value;
  return std::nullopt;
}

}  // namespace xtune
