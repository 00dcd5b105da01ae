// One run of a program: how it ended and the end of its output; processes that it left behind are killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/subprocess.hpp"

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
  bool stopped = false;     ///< timed out because another process had stopped it for too long
  int strays = 0;           ///< number of processes that it had left behind, which were killed
  bool ok() const noexcept { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// Runs a program to its end; blocks. The program stays in this process's group, so killing the group also kills the
/// program. Processes that it starts are killed when it ends, or together with it at a timeout, even if they are in
/// other sessions. Ends only children that appeared during the run. Its time limit is counted like a Deadline. Throws
/// CannotStart.
ProgramEnd run_program(const ProgramRun& run);

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

}  // namespace xtune::process
