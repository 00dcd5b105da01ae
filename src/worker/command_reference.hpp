// Expected outputs from a program of the user, with inputs and outputs as .npy files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/validate/builtin.hpp"

namespace xtune::worker {

/// A call of the user's program. It finds each input as NAME.npy in the directory XTUNE_INPUTS, and writes each output
/// that it computes as NAME.npy, in the argument's shape and dtype, to the directory XTUNE_OUTPUTS.
struct CommandReference {
  std::vector<std::string> argv;          ///< no shell; argv[0] is looked up in PATH if it has no slash
  std::filesystem::path working_folder;   ///< the spec's directory
  std::filesystem::path exchange_folder;  ///< created, and removed at the end
  double timeout_s = 0;
  std::vector<validate::ArrayView> inputs{};
  std::vector<const validate::ArgumentLayout*> outputs{};
};

/// The bytes of each output, in order; empty for an output that the program did not write. Throws Error(invalid_spec)
/// with the end of its standard error if it cannot be started, fails, takes too long, writes no output or one of
/// another shape or dtype.
std::vector<std::vector<std::byte>> run_command_reference(const CommandReference& call);

}  // namespace xtune::worker
