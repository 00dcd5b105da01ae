// Programs of the user's that compute or judge outputs: arrays go to them, and come back, as .npy files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/validate/builtin.hpp"

namespace xtune::worker {

/// A call of the user's program. It finds each input as NAME.npy in the directory that XTUNE_INPUTS names.
struct CommandCall {
  std::vector<std::string> argv;          ///< no shell; argv[0] is looked up in PATH if it has no slash
  std::filesystem::path working_folder;   ///< the spec's directory
  std::filesystem::path exchange_folder;  ///< created, and removed at the end
  double timeout_s = 0;
  std::vector<validate::ArrayView> inputs{};
};

/// A program that writes each output that it computes as NAME.npy, in the argument's shape and dtype, to the
/// directory that XTUNE_OUTPUTS names.
struct CommandReference : CommandCall {
  std::vector<const validate::ArgumentLayout*> outputs{};
};

/// The bytes of each output, in order; empty for an output that the program did not write. Throws Error(invalid_spec)
/// with the end of its standard error if it cannot be started, fails, takes too long, writes no output or one of
/// another shape or dtype.
std::vector<std::vector<std::byte>> run_command_reference(const CommandReference& call);

/// Hands these outputs to a program as NAME.npy in the directory that XTUNE_OUTPUTS names; it ends with 0 if they
/// are right. Throws CandidateFailure: wrong_result with the last line that it printed where it ends otherwise,
/// timed_out where it takes too long, launch_failed where it cannot be started; a ShortageFailure where the machine, or
/// somebody else, may be to blame.
void run_command_check(const CommandCall& call, const std::vector<validate::ArrayView>& outputs);

}  // namespace xtune::worker
