// Jobs for a batch system: their components, what is stored about a submission, and its scripts and options for sbatch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::cluster {

/// Nodes of one GPU type: a component of a heterogeneous job if there are several.
struct JobComponent {
  std::string arch;  ///< architecture to compile for before the job; empty: compile during the job
  int nodes = 1;
  int gpus_per_node = 0;  ///< and processes; 0: one process per node, without a GPU
  std::string gres, constraint, partition;
};

/// "sm_90a:nodes=2,gpus-per-node=4,gres=gpu:h100:4,constraint=h100,partition=gh"; the architecture and every key are
/// optional. Throws Error(invalid_argument).
JobComponent parse_component(const std::string& text);

struct Submission {
  std::string name;                              ///< unique in this store; only letters, digits, '-', '_' and '.'
  std::filesystem::path store, folder, program;  ///< absolute; folder: for scripts, logs and answers
  std::vector<std::string> specs;                ///< absolute
  std::vector<std::string> run_arguments;        ///< for `xtune run` and `compile`: -D and similar
  std::vector<JobComponent> components;          ///< at least one
  std::vector<std::string> sbatch;               ///< the user's options, for the measuring job
  int cpus_per_task = 0;                         ///< 0: default_cpus where there are GPUs, else what the site gives
  std::vector<std::string> setup;                ///< lines of bash before each program: module load ...
  bool compile_job = false;                      ///< compile first, in a separate job
  std::vector<std::string> compile_sbatch;       ///< its options
  int restarts = 20;                             ///< maximum number of restarts of a job that reaches its time limit
};

/// The studies of a submission's attempts: "<name>.r0", "<name>.r1" ...
std::string attempt_study(const std::string& name, int restart);

/// The facts about a submission in <folder>/submission.json.
struct SubmittedStep {
  std::string step, job;  ///< job: the id that sbatch returned
};
void write_submission(const Submission& submission, const std::vector<SubmittedStep>& steps);
struct Submitted {
  std::string name;
  std::filesystem::path folder;
  std::vector<std::string> specs;
  std::vector<SubmittedStep> steps;
  int restarts = 0;
};
/// The submissions of a store, the latest last.
std::vector<Submitted> read_submissions(const std::filesystem::path& store);
std::filesystem::path submission_folder(const std::filesystem::path& store, const std::string& name);

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
