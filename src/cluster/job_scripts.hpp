// The steps of a submission for Slurm: scripts and sbatch's arguments.
#pragma once

#include <string>
#include <vector>

#include "cluster/submission.hpp"

namespace xtune::cluster {

struct JobStep {
  std::string name;                    ///< compile | measure | merge
  std::string script;                  ///< text
  std::vector<std::string> arguments;  ///< for sbatch, before the script; without the dependency
};

/// compile if requested, measure, merge; each waits for the previous ones, whether they succeed or not.
std::vector<JobStep> job_steps(const Submission& submission);
/// `xtune compile` of everything, for the compile step; empty: no architecture is named.
std::vector<std::string> compile_command(const Submission& submission);

}  // namespace xtune::cluster
