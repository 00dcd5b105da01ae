// A batch job that tunes a suite: what was asked for, the scripts that Slurm runs, and where both are kept.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune {

/// Nodes of one GPU type: a component of a heterogeneous job where there are several.
struct JobComponent {
  std::string arch;  ///< to compile for before the job; empty: compiled as it goes
  int nodes = 1;
  int gpus_per_node = 0;  ///< and processes; 0: one process a node, no GPU
  std::string gres, constraint, partition;
};

/// "sm_90a:nodes=2,gpus-per-node=4,gres=gpu:h100:4,constraint=h100,partition=gh"; the architecture and every key may be
/// left out. Throws Error(invalid_argument).
JobComponent parse_component(const std::string& text);

struct JobStep {
  std::string name;                    ///< compile | measure | merge
  std::string script;                  ///< text
  std::vector<std::string> arguments;  ///< of sbatch, in front of the script; the dependency is not among them
};

struct Submission {
  std::string name;  ///< no other submission of this store has it; letters, digits, '-', '_' and '.' alone
  std::filesystem::path store, folder, program;  ///< absolute; folder: scripts, logs and answers
  std::vector<std::string> specs;                ///< absolute
  std::vector<std::string> run_arguments;        ///< of `xtune run` and `compile`: -D and its like
  std::vector<JobComponent> components;          ///< at least one
  std::vector<std::string> sbatch;               ///< the user's options, for the measuring job
  bool compile_job = false;                      ///< a job of its own compiles first
  std::vector<std::string> compile_sbatch;       ///< its options
  int restarts = 20;                             ///< a job whose time ends is started again so often
};

/// compile where it was asked for, measure, merge; the later ones wait for those before, however these end.
std::vector<JobStep> job_steps(const Submission& submission);
/// `xtune compile` of everything, as the compile step runs it; empty: no architecture is named.
std::vector<std::string> compile_command(const Submission& submission);
/// The studies of the attempts of a submission: "<name>.r0", "<name>.r1" ...
std::string attempt_study(const std::string& name, int restart);

/// 'as a shell reads it': one word, whatever is in it.
std::string shell_word(const std::string& text);
std::string shell_words(const std::vector<std::string>& words);

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

}  // namespace xtune
