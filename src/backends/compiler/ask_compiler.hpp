// Questions to a compiler about itself: its version, its directories, the programs that it starts.
#pragma once

#include <string>
#include <vector>

#include "system/subprocess.hpp"

namespace xtune::compiler {

struct Question {
  std::vector<std::string> options;
  /// Besides LC_ALL=C and an own temporary directory, which is named temporary_place in the answer.
  system::Environment env{};
  bool again = false;  ///< ask, even if the answer is remembered
};

constexpr const char* temporary_place = "/xtune-temporary";

/// Starts the compiler with these options. Each start of clang takes about 0.1 s of CPU time, so the answer of an
/// executable file in the same state, in the same environment, is remembered by the process, and by all workers of one
/// process (base/process_folder.hpp). Not remembered: failures, and answers of scripts, which may start another program
/// without a trace. Throws CannotStart. Thread-safe.
system::CommandResult ask_compiler(const std::string& compiler, const Question& question);

}  // namespace xtune::compiler
