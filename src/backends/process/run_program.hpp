// One run of a program: its end, the end of what it wrote, and nothing of it left behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/subprocess.hpp"

namespace xtune::process {

struct ProgramRun {
  std::vector<std::string> argv;
  base::Environment env;
  std::string folder;
  double timeout_s = 0;  ///< 0: none
};

struct ProgramEnd {
  int exit_code = 0;  ///< -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool output_cut = false;  ///< more was written to standard output than is kept
  std::string stdout_text;  ///< its last 16 MiB
  std::string stderr_text;  ///< its last 64 KiB
  double wall_s = 0;        ///< from the start to the end of the program itself
  bool suspended = false;   ///< it, or this process, did not run for a while in between: its time says nothing
  bool stopped = false;     ///< timed_out because somebody had stopped it for too long
  int strays = 0;           ///< processes that it had started and left behind, killed since
  bool ok() const noexcept { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// Runs to the end; blocks. The program stays in this process' group, so that whoever kills the group kills it too;
/// what it starts is killed as it ends, or with it when its time is up, whatever sessions of its own it has made. Ends
/// only those children of this process that the run has brought. Its time is counted as a Deadline counts. Throws
/// CannotStart.
ProgramEnd run_program(const ProgramRun& run);

}  // namespace xtune::process
