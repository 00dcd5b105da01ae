// Facts first: errno, signals, the state of a directory now. Then the messages of compilers, assemblers, linkers and
// shells, which are all that remains of an errno in a grandchild.
#include "core/build/shortage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/unread_headers.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

constexpr auto lack_words = base::enum_words<Lack>("none", "room", "processes", "part", "memory", "killed", "unclear");

bool has_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

/// "k.cu:7:2: error: #error No space left on device", and the lines that show the source itself.
bool quotes_the_source(std::string_view line) {
  if (has_any(line, {" | ", "#"})) return true;
  for (const std::string_view kind : {": error: ", ": warning: ", ": note: "}) {
    const auto at = line.find(kind);
    if (at != std::string_view::npos && at > 0 && std::isdigit(static_cast<unsigned char>(line[at - 1]))) return true;
  }
  return false;
}

/// "/usr/bin/ld: cannot find -lx: No such file or directory" (GNU ld, gold, mold), "ld.lld: error: unable to find
/// library -lx" (lld), "libx.so.1: cannot open shared object file: No such file or directory" (the loader of glibc).
bool tells_a_missing_library(std::string_view line) {
  return has_any(line, {": cannot find -l", "unable to find library -l", "library not found: -l",
                        "cannot open shared object file: No such file"});
}

/// "sh: 1: tool: not found" (dash), "b.sh: line 1: tool: command not found" (bash), "zsh: command not found: tool",
/// "make: *** [Makefile:2: all] Error 127", "env: 'tool': No such file or directory", "timeout: failed to run command
/// 'tool': No such file or directory", "FileNotFoundError: [Errno 2] No such file or directory: 'tool'" (Python).
bool tells_a_missing_program(std::string_view line) {
  if (quotes_the_source(line)) return false;
  constexpr std::string_view of_dash = ": not found", missing = ": No such file or directory";
  if (line.ends_with(of_dash)) {
    const std::string_view named = line.substr(0, line.size() - of_dash.size());
    const std::size_t shell = named.rfind(": ");
    return shell != named.npos && named.find(' ', shell + 2) == named.npos;
  }
  const bool of_env = line.starts_with("env: ") || line.find("/env: ") != line.npos;
  return line.ends_with(": command not found") || line.ends_with("] Error 127") || line.ends_with("] Error 126") ||
         (of_env && line.ends_with(missing)) ||
         has_any(line, {": command not found: ", "bad interpreter: No such file", ": failed to run command ",
                        "Can't exec \"", "FileNotFoundError: [Errno 2]"});
}

/// The message of a compiler driver about a part that crashed. If clang cannot "execute" a part for another reason, it
/// crashed.
bool tells_a_death(std::string_view line) {
  return has_any(line, {"signal terminated program", "terminated with signal", "unable to execute command"}) &&
         !quotes_the_source(line);
}

/// dash, make ("make: *** [all] Terminated"), GCC, collect2, clang and bash, in this order.
bool tells_a_kill(std::string_view line) {
  const auto names = system::names_of_others_signals();
  return line.ends_with(" Killed") || std::any_of(names.begin(), names.end(), [&](std::string_view name) {
           const std::string word(name);
           return line == name || line.ends_with("] " + word) ||
                  has_any(line, {word + " signal terminated", "[" + word + "]", "execute command: " + word,
                                 " " + word + "  "});
         });
}

/// The directory that needs space. Does not name the worker's own directory, which means nothing to a user.
std::string place_of_temporaries() {
  fs::path directory = system::temporary_folder();
  while (directory.filename().string().starts_with("xtune-") && directory.has_parent_path())
    directory = directory.parent_path();
  return directory.string();
}

[[noreturn]] void throw_no_room(const std::string& said) {
  throw Error(ErrorKind::io, said + "; make room in " + place_of_temporaries() +
                                 ", where the compiler keeps its files, or name another place in XTUNE_TMP_DIR");
}

[[noreturn]] void throw_lack(Lack lack, const std::string& said, std::string_view log) {
  if (lack == Lack::room) throw_no_room(said);
  if (lack == Lack::processes)
    throw Error(ErrorKind::unavailable,
                said +
                    "; this machine, or a limit on this user or job, allows no more processes "
                    "or open files (ulimit -u, ulimit -n): wait for others to end, or raise it");
  if (lack == Lack::part)
    throw Error(ErrorKind::unavailable,
                said + "; a part of the compiler could not be started: is it installed completely?");
  throw ShortageFailure(lack, Outcome::crashed, said, std::string(log));
}

/// "k.cu:7:2: error: ", "k.cu(7): error: ": messages that no resource limit causes.
bool blames_the_source(std::string_view log) {
  constexpr std::string_view words = ": error: ";
  for (std::size_t at = log.find(words); at != log.npos; at = log.find(words, at + 1))
    if (at > 0 && (std::isdigit(static_cast<unsigned char>(log[at - 1])) != 0 || log[at - 1] == ')')) return true;
  return false;
}

/// A tool that crashed, or failed without a place in the source, may have reached a limit of the user's shell.
void throw_if_limited(const ToolEnd& end, bool died, const std::string& said) {
  if (!died && blames_the_source(end.log)) return;
  const std::string limits = system::user_limits();
  if (limits.empty()) return;
  throw ShortageFailure(Lack::unclear, died ? Outcome::crashed : Outcome::compile_failed, said + under(limits),
                        std::string(end.log));
}

bool is_lack_of_a_compiler(Lack lack) { return lack != Lack::none && lack != Lack::unclear; }

}  // namespace

const char* to_string(Lack lack) noexcept { return lack_words.of(lack); }

Lack lack_of(const CandidateFailure& failure) noexcept {
  const auto* shortage = dynamic_cast<const ShortageFailure*>(&failure);
  return shortage ? shortage->lack() : Lack::none;
}

Lack lack_behind_memory_limit(std::uint64_t taken_bytes, std::uint64_t total_bytes) noexcept {
  return taken_bytes > total_bytes / 2 ? Lack::none : Lack::memory;
}

bool is_exit_of_missing_program(int exit_code) noexcept { return exit_code == 126 || exit_code == 127; }

Lack lack_in_line(std::string_view line) {
  if (quotes_the_source(line)) return Lack::none;
  if (has_any(line, {"No space left on device", "Disk quota exceeded", "Read-only file system",
                     "File size limit exceeded", "File too large", "no space left on device"}))
    return Lack::room;
  if (tells_a_kill(line)) return Lack::killed;
  if (has_any(line, {"Resource temporarily unavailable", "resource temporarily unavailable", "Cannot fork",
                     "Too many open files", "too many open files", "not enough memory"}))
    return Lack::processes;
  if (tells_a_missing_library(line) || tells_a_missing_program(line)) return Lack::unclear;
  if (has_any(line, {"cannot execute", "error trying to exec", "cannot find 'ld'", "doesn't exist!"}))
    return Lack::part;
  if (has_any(line, {"out of memory", "memory exhausted", "Cannot allocate memory", "std::bad_alloc",
                     "failed to map segment"}))
    return Lack::memory;
  return Lack::none;
}

std::string under(const std::string& limits) { return limits.empty() ? "" : " (under " + limits + ")"; }

void rethrow_counting_kills(const CandidateFailure& failure, std::uint64_t kills_before, Lack lack) {
  if (lack_of(failure) != Lack::none || system::memory_kills() == kills_before) throw;
  throw ShortageFailure(lack, failure.outcome(),
                        failure.what() + std::string(" (the system killed a process for memory meanwhile)"),
                        failure.log());
}

void throw_if_not_the_source(const ToolEnd& end) {
  std::string death, missing;
  for (const std::string_view line : base::split_lines(end.log)) {
    const std::string said = end.tool + ": " + base::printable(line, 300);
    if (const Lack lack = lack_in_line(line); is_lack_of_a_compiler(lack)) throw_lack(lack, said, end.log);
    if (death.empty() && tells_a_death(line)) death = said;
    if (missing.empty() &&
        (!missing_header(line).empty() || tells_a_missing_library(line) || tells_a_missing_program(line)))
      missing = base::printable(line, 300);
  }
  const int signal = system::ending_signal(end.exit_code, end.signal);
  const std::string ended = end.tool + ": " + system::describe_exit(end.exit_code, signal);
  if (missing.empty() && signal == 0 && is_exit_of_missing_program(end.exit_code)) missing = ended;
  if (signal == SIGXFSZ) throw_no_room(ended);
  if (system::comes_from_others(signal)) throw_lack(Lack::killed, ended, end.log);
  // A tool that was killed when it wrote to a mapped file (SIGBUS), or failed without a message, may have found no
  // space.
  if (!end.directory.empty())
    if (const int error = system::room_error(end.directory); error != 0)
      throw_no_room(fmt::format("{}: failed, and nothing can be written to {}: {}", end.tool, place_of_temporaries(),
                                std::strerror(error)));
  throw_if_limited(end, signal != 0 || !death.empty(), death.empty() ? ended : death);
  if (!death.empty()) throw CandidateFailure(Outcome::crashed, death, std::string(end.log));
  if (!missing.empty()) throw ShortageFailure(Lack::unclear, Outcome::compile_failed, missing, std::string(end.log));
}

void throw_if_no_room(const std::string& tool, const fs::path& directory) {
  if (const int error = system::room_error(directory); error != 0)
    throw_no_room(fmt::format("{}: nothing can be written to {} any more: {}", tool, place_of_temporaries(),
                              std::strerror(error)));
}

void require_programs_allowed(const fs::path& directory) {
  if (system::allows_programs(directory)) return;
  throw Error(ErrorKind::io, fmt::format("{} is on a file system that allows no programs (mounted noexec), and the "
                                         "program that [process] build makes is run there: name another directory in "
                                         "XTUNE_TMP_DIR",
                                         place_of_temporaries()));
}

void throw_start_failure(const system::CannotStart& failure, const std::string& what, const std::string& program,
                         Outcome outcome) {
  const std::string said = what + ": " + failure.what();
  switch (failure.reason()) {
    case EACCES:
      if (const fs::path directory = fs::path(program).parent_path(); !directory.empty())
        require_programs_allowed(directory);
      [[fallthrough]];
    case ENOENT:
    case EPERM:
      throw ShortageFailure(Lack::unclear, outcome, said);
    case ETXTBSY:
      throw ShortageFailure(Lack::unclear, outcome, said);
    default:
      break;
  }
  if (system::is_shortage(failure.reason()))
    throw_lack(failure.reason() == ENOSPC || failure.reason() == EDQUOT ? Lack::room : Lack::processes, said, {});
  throw CandidateFailure(outcome, said);
}

}  // namespace xtune::build
