// What the machine lacks, told from what a configuration does wrong. The one place that decides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/build/candidate_failure.hpp"
#include "xtune/outcome.hpp"

namespace xtune::base {
class CannotStart;
}  // namespace xtune::base

namespace xtune::build {

enum class Lack {
  none,
  room,       ///< on a disk: full, over quota, read-only, a limit on the size of files
  processes,  ///< processes, threads or descriptors
  part,       ///< a program that others need: an assembler, a linker
  memory,     ///< of the machine, of its control group, or of the limit that xtune sets: who asks knows which
  killed,     ///< by a signal from elsewhere (base::comes_from_others): a batch system, lack of memory, a person
  unclear,    ///< the program's own words, or a program that is missing: perhaps the configuration's doing
};
/// "room", "memory", ...; from_string: none for another text.
const char* to_string(Lack lack) noexcept;
Lack lack_from_string(std::string_view name) noexcept;

/// What a line that a tool printed says of the machine. A diagnostic that quotes the source ("k.cu:7: error: ...") says
/// nothing of it. Words: GCC 12, Clang 14, GNU binutils 2.40, dash, bash, make, libuv.
Lack lack_in_line(std::string_view line);

/// The exit code of shells, env, nohup, ... for a program that they did not find, or must not execute.
bool is_exit_of_missing_program(int exit_code) noexcept;

/// A configuration's failure that the machine caused, or may have: its outcome holds for this run and is not stored.
class ShortageFailure : public CandidateFailure {
 public:
  ShortageFailure(Lack lack, Outcome outcome, const std::string& message, std::string log = {})
      : CandidateFailure(outcome, message, std::move(log)), lack_(lack) {}
  Lack lack() const noexcept { return lack_; }

 private:
  Lack lack_;
};
/// none for a failure that is the configuration's own.
Lack lack_of(const CandidateFailure& failure) noexcept;

/// " (under a limit on CPU time (ulimit -t))", of what user_limits returned; empty where that is.
std::string under(const std::string& limits);

/// To be called while `failure` is handled: throws it again, but as a ShortageFailure of `lack` where it is the
/// configuration's own and the system has killed some process for memory since memory_kills() was `kills_before`.
[[noreturn]] void rethrow_counting_kills(const CandidateFailure& failure, std::uint64_t kills_before, Lack lack);

/// Of code that was stopped because it took more memory than was to spare: none where it took more than half of all
/// that the machine has; memory where others, or the limit of a control group, which may be another next time, left it
/// less than that.
Lack lack_behind_memory_limit(std::uint64_t taken_bytes, std::uint64_t total_bytes) noexcept;

/// How a compiler, or a build command, ended without success.
struct ToolEnd {
  std::string tool;  ///< for messages
  std::string_view log;
  int exit_code = 0, signal = 0;      ///< of the process; both 0 for a compiler that is a library
  std::filesystem::path directory{};  ///< where it writes its files; empty: not looked at
};

/// Returns when the source is to blame, as far as can be told. Otherwise throws Error(io) where a disk was full or
/// unwritable (by the log, the signal, or by what the directory still takes now), Error(unavailable) where there were
/// not enough processes or a part of the compiler could not be started, ShortageFailure(crashed) where it ran out of
/// memory or was killed, CandidateFailure(crashed) where it, its assembler or its linker died otherwise, and
/// ShortageFailure(compile_failed) where a header, a library or a program that a script starts is missing, which may be
/// installed later. Where this
/// process runs under limits of its user (base/user_limits.hpp), a death, and a failure that no place in the source
/// explains, is a ShortageFailure(unclear).
void throw_if_not_the_source(const ToolEnd& end);

/// For a tool that ended well: throws Error(io) when a directory that it wrote to has no room left, since what it made
/// may be cut off then.
void throw_if_no_room(const std::string& tool, const std::filesystem::path& directory);

/// For a program that could not be started. `what`: "the build". Throws Error(unavailable) for a shortage of processes,
/// descriptors or memory, Error(io) where the program lies in a directory that allows no programs, ShortageFailure
/// where it is missing or may not be executed on this machine, and CandidateFailure for any other reason.
[[noreturn]] void throw_start_failure(const base::CannotStart& failure, const std::string& what,
                                      const std::string& program, Outcome outcome);

/// Throws Error(io) when programs in this directory cannot be started, naming the variable to set.
void require_programs_allowed(const std::filesystem::path& directory);

}  // namespace xtune::build
