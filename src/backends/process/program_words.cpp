// Messages for people, and the messages of shells and loaders by which failures are classified.
#include "backends/process/program_words.hpp"

#include <fmt/core.h>

#include <string_view>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "xtune/outcome.hpp"

namespace xtune::process {
namespace {

constexpr std::size_t shown_bytes = 1000, log_bytes = 8192;

}  // namespace

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return {};
  const std::size_t start = text.rfind('\n', end);
  return base::printable(std::string_view(text).substr(start + 1, end - start), 300);
}

std::string log_of(const ProgramEnd& end) { return base::end_of(end.stderr_text, log_bytes); }

std::string shown(const ProgramEnd& end) {
  const std::string& text = end.stdout_text.empty() ? end.stderr_text : end.stdout_text;
  if (text.empty()) return "nothing";
  const std::string tail = base::end_of(text, shown_bytes);
  return (end.stdout_text.empty() ? "(nothing on standard output; on standard error:)\n" : "") +
         (tail.size() < text.size() ? "...\n" + tail : tail);
}

bool says_a_lack(const ProgramEnd& end) {
  const build::Lack said = build::lack_in_line(last_line(end.stderr_text));
  return said == build::Lack::room || said == build::Lack::processes || said == build::Lack::killed ||
         said == build::Lack::unclear;
}

void refuse_output(const ProgramEnd& end, const std::string& message) {
  if (says_a_lack(end))
    throw build::ShortageFailure(build::Lack::unclear, Outcome::wrong_result,
                                 message + "\non standard error: " + last_line(end.stderr_text), log_of(end));
  throw build::CandidateFailure(Outcome::wrong_result, message, log_of(end));
}

void throw_if_out_of_time(const ProgramEnd& end, const char* what, double timeout_s) {
  if (end.stopped)
    throw build::ShortageFailure(
        build::Lack::killed, Outcome::timed_out,
        fmt::format("{} was stopped by a signal from elsewhere and did not go on, or got no CPU time, and was killed",
                    what),
        log_of(end));
  if (end.timed_out)
    throw build::CandidateFailure(Outcome::timed_out,
                                  fmt::format("{} ran longer than {} and was killed, with all that it had started "
                                              "([process] timeout_s)",
                                              what, base::human_seconds(timeout_s)),
                                  log_of(end));
}

}  // namespace xtune::process
