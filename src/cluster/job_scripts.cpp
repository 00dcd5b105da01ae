// Writes the scripts of a submission. Values are passed to the shell as quoted words, and to sbatch as separate
// arguments.
#include "cluster/job_scripts.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/shell_words.hpp"
#include "cluster/sbatch_options.hpp"

namespace xtune::cluster {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// In Slurm's file name patterns, %% is a literal %.
std::string log_pattern(const fs::path& path) {
  std::string pattern;
  for (const char c : path.string()) pattern += c == '%' ? "%%" : std::string(1, c);
  return pattern;
}

std::string component_lines(const JobComponent& component) {
  std::string lines = fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n", component.nodes,
                                  std::max(component.gpus_per_node, 1));
  if (!component.gres.empty())
    lines += "#SBATCH --gres=" + component.gres + "\n";
  else if (component.gpus_per_node > 0)
    lines += fmt::format("#SBATCH --gpus-per-node={}\n", component.gpus_per_node);
  if (!component.constraint.empty()) lines += "#SBATCH --constraint=" + component.constraint + "\n";
  if (!component.partition.empty()) lines += "#SBATCH --partition=" + component.partition + "\n";
  return lines;
}

std::string word_of(const std::string& text) { return base::command_line({text}); }

void append(Words& to, const Words& from) { to.insert(to.end(), from.begin(), from.end()); }

// If a site passes no environment on, bash sets a PATH but does not export it.
const std::string begin = "set -u\nexport PATH\n";

std::string header(const Submission& submission, const std::string& step) {
  return fmt::format("#!/bin/bash\n#SBATCH --job-name=xtune-{}-{}\n", step, submission.name);
}

// The measuring nodes must find the same program as this one: its path is absolute, regardless of their PATH.
std::string compile_script(const Submission& submission) {
  return header(submission, "compile") + "#SBATCH --ntasks=1\n" + begin +
         base::command_line(compile_command(submission)) + "\n";
}

std::string measure_script(const Submission& submission) {
  std::string text = header(submission, "measure");
  // Only to the steps; the shell below waits for their ends. xtune stops by itself before that: this is for jobs that
  // are ended earlier.
  text += "#SBATCH --signal=USR1@60\n#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  for (std::size_t i = 0; i < submission.components.size(); ++i)
    text += (i > 0 ? "#SBATCH hetjob\n" : "") + component_lines(submission.components[i]);
  text += begin;
  text += "attempt=${SLURM_RESTART_COUNT:-0}\n";
  text += "export XTUNE_STUDY=" + word_of(submission.name) + ".r$attempt\n";
  text += "folder=" + word_of(submission.folder.string()) + "\n";
  text += "pids=()\n";
  Words run{submission.program.string(), "run"};
  append(run, submission.specs);
  append(run, {"--store", submission.store.string(), "--format", "json"});
  append(run, submission.run_arguments);
  const bool heterogeneous = submission.components.size() > 1;
  for (std::size_t i = 0; i < submission.components.size(); ++i) {
    // --export: after sbatch --export=NONE srun would otherwise pass no variables on, not even the study's name.
    Words srun{"srun", "--export=ALL", "--kill-on-bad-exit=0", "--wait=0", "--no-kill"};
    if (heterogeneous) srun.push_back(fmt::format("--het-group={}", i));
    if (submission.components[i].gpus_per_node > 0) srun.push_back("--gpus-per-task=1");
    text += fmt::format("XTUNE_COMPONENT={} {} {} > \"$folder/answers-{}.r$attempt.json\" &\npids+=($!)\n", i,
                        base::command_line(srun), base::command_line(run), i);
  }
  text +=
      "trap 'kill -TERM \"${pids[@]}\" 2>/dev/null; wait; exit 143' TERM\n"
      "worst=0 again=no\n"
      "for pid in \"${pids[@]}\"; do\n"
      "  wait \"$pid\"\n"
      "  code=$?\n"
      "  [ \"$code\" = 130 ] && again=yes\n"
      "  [ \"$code\" -gt \"$worst\" ] && worst=$code\n"
      "done\n";
  text += fmt::format(
      "if [ \"$again\" = yes ] && [ \"$attempt\" -lt {} ]; then\n"
      "  scontrol requeue \"$SLURM_JOB_ID\" && wait && sleep 600\n"
      "fi\n"
      "exit \"$worst\"\n",
      submission.restarts);
  return text;
}

std::string merge_script(const Submission& submission) {
  const std::string program = word_of(submission.program.string());
  const std::string store = word_of(submission.store.string()), name = word_of(submission.name);
  return header(submission, "merge") + "#SBATCH --ntasks=1\n" + begin +
         "folder=" + word_of(submission.folder.string()) + "\n" +
         fmt::format("{} store verify --store {} > \"$folder/verify.txt\" 2>&1\n", program, store) +
         fmt::format("{} status {} --store {} --format json > \"$folder/status.json\"\n", program, name, store) +
         fmt::format("{} status {} --store {}\n", program, name, store);
}

}  // namespace

Words compile_command(const Submission& submission) {
  std::string archs;
  for (const JobComponent& component : submission.components)
    if (!component.arch.empty()) archs += (archs.empty() ? "" : ",") + component.arch;
  if (archs.empty()) return {};
  Words words{submission.program.string(), "compile"};
  append(words, submission.specs);
  append(words, {"--store", submission.store.string(), "--arch", archs});
  append(words, submission.run_arguments);
  return words;
}

std::vector<JobStep> job_steps(const Submission& submission) {
  std::vector<JobStep> steps;
  // All steps use the same account; --cpu-option can set another one.
  const Words account = account_option(submission.sbatch);
  const auto log = [&](const std::string& step) {
    return "--output=" + log_pattern(submission.folder / (step + "-")) + "%j.log";
  };
  if (submission.compile_job && !compile_command(submission).empty()) {
    steps.push_back({"compile", compile_script(submission), {"--parsable", log("compile")}});
    append(steps.back().arguments, account);
    append(steps.back().arguments, submission.compile_sbatch);
  }
  steps.push_back({"measure", measure_script(submission), {"--parsable", log("measure")}});
  append(steps.back().arguments, submission.sbatch);
  // sbatch takes the options of each component separately: a given limit applies to all.
  for (std::size_t i = 1; i < submission.components.size(); ++i) {
    steps.back().arguments.emplace_back(":");
    append(steps.back().arguments, submission.sbatch);
  }
  steps.push_back({"merge", merge_script(submission), {"--parsable", log("merge")}});
  append(steps.back().arguments, account);
  append(steps.back().arguments, submission.compile_sbatch);
  return steps;
}

}  // namespace xtune::cluster
