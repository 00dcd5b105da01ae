// The steps of a submission as Slurm runs them: scripts and sbatch's arguments.
#pragma once

#include <string>
#include <vector>

#include "cluster/submission.hpp"

namespace xtune::cluster {

struct JobStep {
  std::string name;                    ///< compile | measure | merge
  std::string script;                  ///< text
  std::vector<std::string> arguments;  ///< of sbatch, in front of the script; the dependency is not among them
};

/// compile where it was asked for, measure, merge; the later ones wait for those before, however these end.
std::vector<JobStep> job_steps(const Submission& submission);
/// `xtune compile` of everything, as the compile step runs it; empty: no architecture is named.
std::vector<std::string> compile_command(const Submission& submission);

}  // namespace xtune::cluster
