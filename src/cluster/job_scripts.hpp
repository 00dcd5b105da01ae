// Scripts and options for sbatch.
#pragma once

#include <string>
#include <vector>

#include "cluster/submission.hpp"

namespace xtune::cluster {

/// Throws Error(invalid_argument) for a word that is neither an option nor an option's value, which sbatch would take
/// for the script, and for a job array. source: their origin, for the message.
void check_sbatch_options(const std::vector<std::string>& words, const std::string& source);
/// -A or --account, in any of its forms, as one word; empty if it is not among them.
std::vector<std::string> account_option(const std::vector<std::string>& words);

/// The same of -t or --time.
std::vector<std::string> time_option(const std::vector<std::string>& words);

/// The same of -c or --cpus-per-task, else of --cpus-per-gpu.
std::vector<std::string> cpus_option(const std::vector<std::string>& words);

/// The options in the lines of a script that sbatch reads: those with #SBATCH before the first command.
std::vector<std::string> directive_words(const std::vector<std::string>& lines);

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
