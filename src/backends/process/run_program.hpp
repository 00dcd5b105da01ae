// A program: its private directory, one run of it, how that ended, and what its output reveals about the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/shortage.hpp"
#include "core/device/program_call.hpp"
#include "system/deadline.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "xtune/outcome.hpp"

namespace xtune::process {

/// How often a run is repeated because it was suspended: a program that is stopped all the time still gets a time.
inline constexpr int max_retakes = 10;

struct ProgramRun {
  std::vector<std::string> argv;
  system::Environment env;
  std::string folder;
  double timeout_s = 0;  ///< 0: none
};

struct ProgramEnd {
  int exit_code = 0;  ///< -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool output_cut = false;  ///< standard output was longer than the limit
  std::string stdout_text;  ///< its last 16 MiB
  std::string stderr_text;  ///< its last 64 KiB
  double wall_s = 0;        ///< from the start to the end of the program itself
  bool suspended = false;   ///< it, or this process, did not run for a while: its time has no meaning
  system::Expiry expiry = system::Expiry::too_slow;  ///< why it timed out
  int strays = 0;                                    ///< number of processes that it had left behind, which were killed
  bool ok() const noexcept { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// Runs a program to its end; blocks. The program stays in this process's group, so killing the group also kills the
/// program. Processes that it starts are killed when it ends, or together with it at a timeout, even if they are in
/// other sessions. Ends only children that appeared during the run. Its time limit is counted like a Deadline. Throws
/// CannotStart.
ProgramEnd run_program(const ProgramRun& run);

/// The same, but throws what throw_start_failure() says. what: "the program".
ProgramEnd run_program(const ProgramRun& run, const char* what, Outcome if_not_started);

/// Keeps the end of a text of any length. Does not own the text.
class Tail {
 public:
  Tail(std::string& text, std::size_t kept) : text_(text), kept_(kept) {}
  void append(std::string_view bytes) {
    text_.append(bytes);
    if (text_.size() > 2 * kept_) cut();
  }
  void cut() {
    if (text_.size() <= kept_) return;
    text_.erase(0, text_.size() - kept_);
    cut_ = true;
  }
  bool was_cut() const noexcept { return cut_; }

 private:
  std::string& text_;
  std::size_t kept_;
  bool cut_ = false;
};

/// The private directory of a program: its image, and the directory that {tmp} names.
class ProgramFiles {
 public:
  ProgramFiles();

  const device::ProgramPlaces& places() const noexcept { return places_; }
  const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  /// Makes an executable file of the image at {out}. Throws Error(io).
  void install(const std::string& image) const;
  /// Makes {tmp} an empty directory. Throws Error(io).
  void empty_tmp() const;
  /// How these call texts are started, with the call's environment and directory. device: index of the one device that
  /// the program may see, if the call restricts this.
  ProgramRun command_of(const device::ProgramCall& call, const std::vector<std::string>& call_texts, int device) const;

 private:
  const system::TemporaryDirectory folder_;
  const device::ProgramPlaces places_;
};

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
