// Expected outputs from a program of the user's: inputs out as .npy files, outputs in the same way.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/validate/builtin.hpp"

namespace xtune::worker {

/// A call of the user's program. It finds each input as NAME.npy in the folder that XTUNE_INPUTS names, and writes each
/// output that it computes as NAME.npy, in the argument's shape and dtype, to the directory that XTUNE_OUTPUTS names.
struct CommandReference {
  std::vector<std::string> argv;          ///< no shell; argv[0] is looked up in PATH when it has no slash
  std::filesystem::path working_folder;   ///< the spec's
  std::filesystem::path exchange_folder;  ///< made, and removed at the end
  double timeout_s = 0;
  std::vector<validate::ArrayView> inputs{};
  std::vector<const validate::ArgumentLayout*> outputs{};
};

/// The bytes of each output, in order; empty for one that the program did not write. Throws Error(invalid_spec) when
/// it cannot be started, fails, takes too long, writes no output or one of another shape or dtype: with the end of its
/// standard error.
std::vector<std::vector<std::byte>> run_command_reference(const CommandReference& call);

}  // namespace xtune::worker
