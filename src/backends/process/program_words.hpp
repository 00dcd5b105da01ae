// Descriptions of a program's end, and what its output reveals about the machine.
#pragma once

#include <string>

#include "backends/process/program_files.hpp"
#include "backends/process/run_program.hpp"
#include "core/build/shortage.hpp"
#include "xtune/outcome.hpp"

namespace xtune::process {

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

/// The lack of resources that may be behind the end of a program without success. A program's messages are arbitrary,
/// and it may itself request too much memory or too many threads: its messages make the cause at most unclear. Empties
/// {tmp}. Throws Error(io) if a disk stays full without the program's files.
build::Lack lack_behind(const ProgramEnd& end, const ProgramFiles& files);

/// Refuses a program that ended without success. Throws CandidateFailure, as a ShortageFailure if there was a lack, or
/// if this process runs under limits of its user.
[[noreturn]] void refuse(const ProgramEnd& end, Outcome outcome, const std::string& message, build::Lack lack);

/// what: "the program". more: ends the message. Throws CandidateFailure(timed_out), as a ShortageFailure if another
/// process had stopped it.
void throw_if_out_of_time(const ProgramEnd& end, const char* what, double timeout_s, const std::string& more = "");

}  // namespace xtune::process
