// Exit codes.
#include "cli/commands.hpp"

#include <algorithm>

namespace xtune::cli {

int exit_code_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_spec:
    case ErrorKind::invalid_argument:
      return bad_arguments;
    case ErrorKind::nothing_valid:
      return nothing_valid;
    case ErrorKind::unavailable:
    case ErrorKind::unsupported:
      return unavailable;
    case ErrorKind::interrupted:
      return interrupted;
    case ErrorKind::io:
      return own_failure;
  }
  return own_failure;
}

const std::vector<std::pair<int, std::string>>& exit_code_meanings() {
  static const std::vector<std::pair<int, std::string>> meanings{
      {done, "done"},
      {own_failure, "a failure of xtune itself or of the machine, or `store verify` found damage"},
      {bad_arguments, "wrong arguments or spec"},
      {nothing_valid,
       "nothing valid was found: no configuration passed, `validate` found one that fails, `select` left cases without "
       "one, or `report` or `coverage` found no results"},
      {unavailable, "the device or backend is unavailable"},
      {regressed,
       "an answer is slower than `diff --fail-if-slower` allows, or lost; or `audit` found more than `--max-flips` or "
       "`--max-regret` allow"},
      {interrupted, "interrupted, or out of the job's time; everything measured so far is kept"}};
  return meanings;
}

std::vector<std::string>& command_words() {
  static std::vector<std::string> words;
  return words;
}

int worse_code(int a, int b) {
  // From problems that a user cannot fix to complete answers.
  constexpr int order[] = {interrupted, own_failure, bad_arguments, unavailable, nothing_valid, done};
  for (const int code : order)
    if (a == code || b == code) return code;
  return std::max(a, b);
}

}  // namespace xtune::cli
