// What a user says to sbatch: which words may stand there, and what concerns all jobs of a submission.
#pragma once

#include <string>
#include <vector>

namespace xtune::cluster {

/// Throws Error(invalid_argument) for a word that is neither an option nor an option's value: sbatch would take it for
/// the script; and for a job array. source: where they are from, for the message.
void check_sbatch_options(const std::vector<std::string>& words, const std::string& source);
/// -A or --account, in any of its forms, as one word; empty: it is not among them.
std::vector<std::string> account_option(const std::vector<std::string>& words);

/// The same of -t or --time.
std::vector<std::string> time_option(const std::vector<std::string>& words);

}  // namespace xtune::cluster
