// Jobs for a batch system: their components, what is stored about a submission, its scripts, and its continuations.
#pragma once

#include "cluster/batch_system.hpp"

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
  const BatchSystem* system = nullptr;
  std::string name;                              ///< unique in this store; only letters, digits, '-', '_' and '.'
  std::filesystem::path store, folder, program;  ///< absolute; folder: for scripts, logs and answers
  Words specs;                                   ///< absolute
  Words run_arguments;                           ///< for `xtune run` and `compile`: -D and similar
  std::vector<JobComponent> components;          ///< at least one
  Words options;                                 ///< the user's, of the submit command, for the measuring job
  int cpus_per_task = 0;                         ///< 0: default_cpus where there are GPUs, else what the site gives
  Words setup;                                   ///< lines of bash before each program: module load ...
  bool compile_job = false;                      ///< compile first, in a separate job
  Words compile_options;                         ///< the user's, for jobs that need no GPU
  int max_jobs = 20;                             ///< of the measuring step: the first one and its continuations
  std::optional<double> max_gpu_hours;           ///< of the measuring jobs together
};

/// Whether the component gets GPUs, also by options that do not count them.
bool asks_for_gpus(const Submission& submission, const JobComponent& component);
/// nodes x GPUs x time that a measuring job asks for; nullopt: the time, or how many GPUs, is not known.
std::optional<double> gpu_hours(const Submission& submission);

struct JobStep {
  std::string name;    ///< compile | measure | merge
  std::string script;  ///< text
  Words arguments;     ///< for the submit command, before the script; without the dependency
};
/// compile if requested, measure, merge; each waits for the previous ones, whether they succeed or not.
std::vector<JobStep> job_steps(const Submission& submission);

/// The facts about a submission, in <folder>/submission.json. Needed before its first job starts.
void write_submission(const Submission& submission, const std::vector<JobStep>& steps);
/// A job of a submission.
struct SubmittedJob {
  std::string step;         ///< as of JobStep
  std::size_t attempt = 0;  ///< 0: the first job, 1: its continuation ...
  std::string id;           ///< that the batch system returned; empty: none is known

  std::string name() const;  ///< "measure", its continuation "measure.r1"
};
struct Submitted {
  std::string name;
  std::filesystem::path folder;
  std::map<std::string, Words> arguments;  ///< of JobStep, by its name
  std::vector<SubmittedJob> jobs;          ///< whose ids are known; the latest last
  std::string scheduler;                   ///< for choose_batch_system
  int max_jobs = 1;
  std::optional<double> gpu_hours, max_gpu_hours;  ///< gpu_hours: of one job
};
/// Notes a job's id in <folder>/<step>.r<attempt>.job; empty: the attempt is given up. The first note holds. Returns
/// its id. Throws Error(io).
std::string note_job(const std::filesystem::path& folder, const SubmittedJob& job);
/// The latest measuring job after an attempt. Where a script shows that one was submitted, and no note that the batch
/// system took it, the submitter may have been killed between: that attempt is given up, so its job will end at its
/// start. If none is left, the result has no id, and the number of the next attempt.
SubmittedJob following_job(const Submitted& submitted, std::size_t attempt);
/// Why no job follows the latest measuring one; empty: one may.
std::string end_of_chain(const Submitted& submitted);
/// Writes <step>.r<attempt>.sh, the step's script for this attempt, and returns its path.
std::filesystem::path write_attempt(const Submitted& submitted, const std::string& step, std::size_t attempt);

/// The submission in a directory. Throws.
Submitted read_submission(const std::filesystem::path& folder);
/// The submissions of a store, the latest last.
std::vector<Submitted> read_submissions(const std::filesystem::path& store);
std::filesystem::path submission_folder(const std::filesystem::path& store, const std::string& name);

/// Throws Error(invalid_argument) for a word that is neither an option nor an option's value, which the submit command
/// would take for the script, and for a job array. source: their origin, for the message.
void check_options(const BatchSystem& system, const Words& words, const std::string& source);

/// The options in the lines of a script that the system reads: those with its prefix before the first command.
Words directive_words(const BatchSystem& system, const Words& lines);

/// The command that submits a step. after: the id of the job that it waits for; empty: none.
Words submit_command(const BatchSystem& system, const Words& arguments, const std::filesystem::path& script,
                     const std::string& after);
/// Submits it, and returns the job's id. Throws Error(unavailable).
std::string submit_step(const BatchSystem& system, const Words& command, const std::filesystem::path& script);
/// `xtune compile` of everything, for the compile step; empty: no architecture is named.
Words compile_command(const Submission& submission);

}  // namespace xtune::cluster
