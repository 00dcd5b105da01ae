// Distinguishes a lack of resources on the machine from errors of a configuration. The only place that decides this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/build/candidate_failure.hpp"
#include "xtune/outcome.hpp"

namespace xtune::system {
class CannotStart;
}  // namespace xtune::system

namespace xtune::build {

enum class Lack {
  none,
  room,       ///< on a disk: full, over quota, read-only, a limit on the size of files
  processes,  ///< processes, threads or descriptors
  part,       ///< a program that a tool needs: an assembler, a linker
  memory,     ///< of the machine, of its control group, or of the limit that xtune sets: the caller knows which
  killed,     ///< by a signal from elsewhere (system::comes_from_others): a batch system, lack of memory, a person
  unclear,    ///< unclear message, or a missing program: possibly the configuration's fault
};
/// "room", "memory", ...
const char* to_string(Lack lack) noexcept;

/// The lack of resources that a line of a tool's output reports. None for a diagnostic that quotes the source ("k.cu:7:
/// error: ..."). Messages: GCC 12, Clang 14, GNU binutils 2.40, dash, bash, make, libuv.
Lack lack_in_line(std::string_view line);

/// The exit code of shells, env, nohup, ... for a program that they did not find or may not execute.
bool is_exit_of_missing_program(int exit_code) noexcept;

/// A failure that the machine caused, or may have caused: its outcome is valid for this run and is not stored.
class ShortageFailure : public CandidateFailure {
 public:
  ShortageFailure(Lack lack, Outcome outcome, const std::string& message, std::string log = {})
      : CandidateFailure(outcome, message, std::move(log)), lack_(lack) {}
  Lack lack() const noexcept { return lack_; }

 private:
  Lack lack_;
};
/// none for a failure that the configuration caused.
Lack lack_of(const CandidateFailure& failure) noexcept;

/// " (under a limit on CPU time (ulimit -t))", for the result of user_limits; empty if that is empty.
std::string under(const std::string& limits);

/// Call it while `failure` is handled: throws it again, but as a ShortageFailure of `lack` if it is the configuration's
/// own and the system has killed some process for lack of memory since memory_kills() was `kills_before`.
[[noreturn]] void rethrow_counting_kills(const CandidateFailure& failure, std::uint64_t kills_before, Lack lack);

/// The lack for code that was stopped because it used too much memory: none if it used more than half of the machine's
/// memory; memory if other processes, or the limit of a control group, which may differ next time, left it less than
/// that.
Lack lack_behind_memory_limit(std::uint64_t taken_bytes, std::uint64_t total_bytes) noexcept;

/// How a compiler or a build command failed.
struct ToolEnd {
  std::string tool;  ///< name for messages
  std::string_view log;
  int exit_code = 0, signal = 0;      ///< of the process; both 0 for a compiler that is a library
  std::filesystem::path directory{};  ///< where it writes its files; empty: not checked
};

/// Returns if the source is to blame, as far as can be determined. Otherwise throws Error(io) if a disk was full or not
/// writable (according to the log, the signal, or a test of the directory), Error(unavailable) if there were not enough
/// processes or a part of the compiler could not be started, ShortageFailure(crashed) if it ran out of memory or was
/// killed, CandidateFailure(crashed) if it, its assembler or its linker crashed for another reason, and
/// ShortageFailure(compile_failed) if a header, a library or a program that a script starts is missing, which may be
/// installed later. If this process runs under limits of its user (base/user_limits.hpp), a crash, and a failure
/// without a place in the source, is a ShortageFailure(unclear).
void throw_if_not_the_source(const ToolEnd& end);

/// For a tool that succeeded: throws Error(io) if a directory that it wrote to has no space left, since its output may
/// be truncated.
void throw_if_no_room(const std::string& tool, const std::filesystem::path& directory);

/// For a program that could not be started. `what`: "the build". Throws Error(unavailable) for a lack of processes,
/// descriptors or memory, Error(io) if the program is in a directory that allows no programs, ShortageFailure if it is
/// missing or may not be executed on this machine, and CandidateFailure for any other reason.
[[noreturn]] void throw_start_failure(const system::CannotStart& failure, const std::string& what,
                                      const std::string& program, Outcome outcome);

/// Throws Error(io) with the variable to set if programs in this directory cannot be started.
void require_programs_allowed(const std::filesystem::path& directory);

}  // namespace xtune::build
