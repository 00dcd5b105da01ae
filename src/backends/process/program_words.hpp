// What is said of a program's end, and what its own words say of the machine.
#pragma once

#include <string>

#include "backends/process/run_program.hpp"

namespace xtune::process {

/// Of a text with blank lines at its end; at most 300 characters, printable.
std::string last_line(const std::string& text);
/// The end of standard error, for a record.
std::string log_of(const ProgramEnd& end);
/// The end of what it printed, for a message.
std::string shown(const ProgramEnd& end);

/// By the last line on standard error: a lack of room or processes, a kill, a missing program or library.
bool says_a_lack(const ProgramEnd& end);

/// Of a program that ended well without what is looked for in its output. Throws CandidateFailure(wrong_result), as a
/// ShortageFailure where it says a lack: in a pipe, or before the last command of a script, failures change no exit
/// code.
[[noreturn]] void refuse_output(const ProgramEnd& end, const std::string& message);

/// what: "the program". Throws CandidateFailure(timed_out), as a ShortageFailure where it was stopped from elsewhere.
void throw_if_out_of_time(const ProgramEnd& end, const char* what, double timeout_s);

}  // namespace xtune::process
