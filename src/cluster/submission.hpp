// A batch job that tunes a suite: what was asked for, and what is kept of it in the store.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cluster/job_component.hpp"

namespace xtune::cluster {

struct Submission {
  std::string name;  ///< no other submission of this store has it; letters, digits, '-', '_' and '.' alone
  std::filesystem::path store, folder, program;  ///< absolute; folder: scripts, logs and answers
  std::vector<std::string> specs;                ///< absolute
  std::vector<std::string> run_arguments;        ///< of `xtune run` and `compile`: -D and its like
  std::vector<JobComponent> components;          ///< at least one
  std::vector<std::string> sbatch;               ///< the user's options, for the measuring job
  int cpus_per_task = 0;                         ///< 0: default_cpus where there are GPUs, else what the site gives
  std::vector<std::string> setup;                ///< lines of bash before each program: module load ...
  bool compile_job = false;                      ///< a job of its own compiles first
  std::vector<std::string> compile_sbatch;       ///< its options
  int restarts = 20;                             ///< a job whose time ends is started again so often
};

/// The studies of the attempts of a submission: "<name>.r0", "<name>.r1" ...
std::string attempt_study(const std::string& name, int restart);

/// What is kept of a submission in <folder>/submission.json.
struct SubmittedStep {
  std::string step, job;  ///< job: the id that sbatch told
};
void write_submission(const Submission& submission, const std::vector<SubmittedStep>& steps);
struct Submitted {
  std::string name;
  std::filesystem::path folder;
  std::vector<std::string> specs;
  std::vector<SubmittedStep> steps;
  int restarts = 0;
};
/// Those of a store, the latest last.
std::vector<Submitted> read_submissions(const std::filesystem::path& store);
std::filesystem::path submission_folder(const std::filesystem::path& store, const std::string& name);

}  // namespace xtune::cluster
