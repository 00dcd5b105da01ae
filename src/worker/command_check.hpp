// The spec's check: a program of the user's that judges what a configuration's launch left.
#pragma once

#include "worker/constants.hpp"
#include "worker/output_check.hpp"

namespace xtune::worker {

/// Borrows all that it is made of.
class CommandCheck {
 public:
  CommandCheck(const ipc::OpenJob& job, const std::vector<TestArgument>& arguments, const Constants& constants)
      : job_(job), arguments_(arguments), constants_(constants) {}

  /// Does nothing where the spec has no check. after: what follows the message of a failure ("; the first launch was
  /// right"). Throws as run_command_check does.
  void judge(BufferSet& set, const std::string& after = {}) const;

 private:
  const ipc::OpenJob& job_;
  const std::vector<TestArgument>& arguments_;
  const Constants& constants_;
};

}  // namespace xtune::worker
