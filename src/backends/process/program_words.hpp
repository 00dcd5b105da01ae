// Descriptions of a program's end, and what its output reveals about the machine.
#pragma once

#include <string>

#include "backends/process/run_program.hpp"

namespace xtune::process {

/// The last line before trailing blank lines; up to 300 characters, printable.
std::string last_line(const std::string& text);
/// The end of standard error, for a record.
std::string log_of(const ProgramEnd& end);
/// The end of its output, for a message.
std::string shown(const ProgramEnd& end);

/// Whether the last line on standard error reports a lack of space or processes, a kill, or a missing program or
/// library.
bool says_a_lack(const ProgramEnd& end);

/// For a program that succeeded, but without the expected output. Throws CandidateFailure(wrong_result), as a
/// ShortageFailure if its output reports a lack of resources: in a pipe, or before the last command of a script,
/// failures do not change the exit code.
[[noreturn]] void refuse_output(const ProgramEnd& end, const std::string& message);

/// what: "the program". Throws CandidateFailure(timed_out), as a ShortageFailure if another process had stopped it.
void throw_if_out_of_time(const ProgramEnd& end, const char* what, double timeout_s);

}  // namespace xtune::process
