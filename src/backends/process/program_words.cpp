// Messages for people, and the messages of shells and loaders by which failures are classified.
#include "backends/process/program_words.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"

namespace xtune::process {
namespace {

constexpr std::size_t shown_bytes = 1000, log_bytes = 8192;

}  // namespace

std::string log_of(const ProgramEnd& end) { return base::end_of(end.stderr_text, log_bytes); }

std::string shown(const ProgramEnd& end) {
  const std::string& text = end.stdout_text.empty() ? end.stderr_text : end.stdout_text;
  if (text.empty()) return "nothing";
  const std::string tail = base::end_of(text, shown_bytes);
  return (end.stdout_text.empty() ? "(nothing on standard output; on standard error:)\n" : "") +
         (tail.size() < text.size() ? "...\n" + tail : tail);
}

bool says_a_lack(const ProgramEnd& end) {
  const build::Lack said = build::lack_in_line(base::last_line(end.stderr_text));
  return said == build::Lack::room || said == build::Lack::processes || said == build::Lack::killed ||
         said == build::Lack::unclear;
}

void refuse_output(const ProgramEnd& end, const std::string& message) {
  if (says_a_lack(end))
    throw build::ShortageFailure(build::Lack::unclear, Outcome::wrong_result,
                                 message + "\non standard error: " + base::last_line(end.stderr_text), log_of(end));
  throw build::CandidateFailure(Outcome::wrong_result, message, log_of(end));
}

build::Lack lack_behind(const ProgramEnd& end, const ProgramFiles& files) {
  if (system::comes_from_others(system::ending_signal(end.exit_code, end.signal))) return build::Lack::killed;
  const bool had_room = system::room_error(files.places().tmp) == 0;
  files.empty_tmp();
  build::throw_if_no_room("the program failed", files.folder());
  return !had_room || build::is_exit_of_missing_program(end.exit_code) || says_a_lack(end) ? build::Lack::unclear
                                                                                           : build::Lack::none;
}

void refuse(const ProgramEnd& end, Outcome outcome, const std::string& message, build::Lack lack) {
  if (lack != build::Lack::none)
    throw build::ShortageFailure(
        lack, outcome,
        message + (lack == build::Lack::killed ? system::not_from_xtune : "") + build::under(system::user_limits()),
        log_of(end));
  if (const std::string limits = system::user_limits(); !limits.empty())
    throw build::ShortageFailure(build::Lack::unclear, outcome, message + build::under(limits), log_of(end));
  throw build::CandidateFailure(outcome, message, log_of(end));
}

void throw_if_out_of_time(const ProgramEnd& end, const char* what, double timeout_s, const std::string& more) {
  if (end.stopped)
    throw build::ShortageFailure(
        build::Lack::killed, Outcome::timed_out,
        fmt::format("{} was stopped by a signal from elsewhere and did not go on, or got no CPU time, and was killed",
                    what),
        log_of(end));
  if (end.timed_out)
    throw build::CandidateFailure(Outcome::timed_out,
                                  fmt::format("{} ran longer than {} and was killed, with all that it had started "
                                              "([process] timeout_s){}",
                                              what, base::human_seconds(timeout_s), more),
                                  log_of(end));
}

}  // namespace xtune::process
