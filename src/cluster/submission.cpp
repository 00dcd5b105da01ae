// Components from words of the command line; stored facts about submissions; their scripts.
#include "cluster/submission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace {

int count_of(const std::string& key, const std::string& text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < least)
    throw Error(ErrorKind::invalid_argument, fmt::format("--arch-component: {}='{}' is not a count of at least {}", key,
                                                         base::printable(text, 40), least));
  return value;
}

/// A value that #SBATCH lines accept without quoting.
std::string plain_value(const std::string& key, const std::string& text) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:=&|*()[]+/@";
  if (text.empty() || text.find_first_not_of(allowed) != std::string::npos)
    throw Error(ErrorKind::invalid_argument, fmt::format("--arch-component: {}='{}': letters, digits and {} only", key,
                                                         base::printable(text, 80), "_-.:=&|*()[]+/@"));
  return text;
}

}  // namespace

JobComponent parse_component(const std::string& text) {
  JobComponent component;
  std::string rest = text;
  // "sm_90a:nodes=2": a colon before the first '='.
  const std::size_t equals = std::min(rest.find('='), rest.size());
  if (const std::size_t colon = rest.find(':'); colon < equals || equals == rest.size()) {
    component.arch = plain_value("arch", rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  const std::vector<std::string> keys{"nodes", "gpus-per-node", "gres", "constraint", "partition"};
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string part = rest.substr(0, comma);
    rest = rest.substr(std::min(comma + 1, rest.size()));
    const std::size_t at = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, at), value = part.substr(std::min(at + 1, part.size()));
    if (key == "nodes")
      component.nodes = count_of(key, value, 1);
    else if (key == "gpus-per-node")
      component.gpus_per_node = count_of(key, value, 0);
    else if (key == "gres")
      component.gres = plain_value(key, value);
    else if (key == "constraint")
      component.constraint = plain_value(key, value);
    else if (key == "partition")
      component.partition = plain_value(key, value);
    else
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--arch-component '{}': unknown key '{}'{}; write "
                              "[ARCH:]nodes=N,gpus-per-node=N,gres=...,constraint=...,partition=...",
                              base::printable(text, 200), base::printable(key, 40), base::did_you_mean(key, keys)));
  }
  return component;
}

namespace fs = std::filesystem;

std::string attempt_study(const std::string& name, int restart) { return fmt::format("{}.r{}", name, restart); }

fs::path submission_folder(const fs::path& store, const std::string& name) { return store / "submissions" / name; }

void write_submission(const Submission& submission, const std::vector<SubmittedStep>& steps) {
  nlohmann::json json{{"xtune_submission", 1},
                      {"name", submission.name},
                      {"specs", nlohmann::json::array()},
                      {"restarts", submission.restarts},
                      {"steps", nlohmann::json::array()}};
  for (const std::string& spec : submission.specs) json["specs"].push_back(base::printable(spec));
  for (const SubmittedStep& step : steps) json["steps"].push_back({{"step", step.step}, {"job", step.job}});
  system::write_file_atomically(submission.folder / "submission.json", json.dump(2) + "\n");
}

std::vector<Submitted> read_submissions(const fs::path& store) {
  std::vector<std::pair<fs::file_time_type, Submitted>> dated;
  std::error_code error;
  for (fs::directory_iterator entry(store / "submissions", error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path file = entry->path() / "submission.json";
    try {
      const nlohmann::json json = nlohmann::json::parse(system::read_file(file, 1 << 20));
      Submitted submitted{json.at("name"), entry->path(), json.at("specs"), {}, json.at("restarts")};
      for (const nlohmann::json& step : json.at("steps")) submitted.steps.push_back({step.at("step"), step.at("job")});
      dated.emplace_back(fs::last_write_time(file), std::move(submitted));
    } catch (const std::exception&) {  // not submitted completely, or damaged: it cannot be listed
    }
  }
  std::sort(dated.begin(), dated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Submitted> list;
  for (auto& [time, submitted] : dated) list.push_back(std::move(submitted));
  return list;
}

// The scripts: values are passed to the shell as quoted words, and to sbatch as separate arguments.

namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// Whether the next word may be its value.
bool may_take_next(const std::string& option) {
  return option.starts_with("--") ? option.find('=') == std::string::npos : option.size() == 2;
}

/// -a, --array, or an abbreviation that getopt_long(3) accepts for it.
bool makes_array(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return name.starts_with("--") ? name.size() >= 4 && std::string_view("--array").starts_with(name)
                                : name.starts_with("-a");
}

}  // namespace

void check_sbatch_options(const std::vector<std::string>& words, const std::string& source) {
  bool value_may_follow = false;
  for (const std::string& word : words) {
    if (word == "--" || (!is_option(word) && !value_may_follow))
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("{}: '{}' is not an option, and sbatch would take it for the script; xtune submit writes that "
                      "itself, and takes only options of sbatch there, such as --time=2:00:00",
                      source, base::printable(word, 80)));
    if (makes_array(word))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: {} would do the whole submission once for each index of the array; more processes "
                              "in one search come from --nodes and --gpus-per-node",
                              source, base::printable(word, 80)));
    value_may_follow = is_option(word) && may_take_next(word);
  }
}

namespace {

/// The last one of an option's values, as "--name=value".
std::vector<std::string> option_value(const std::vector<std::string>& words, const std::string& letter,
                                      const std::string& name) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool next = word == letter || word == name;
    if (next && i + 1 < words.size())
      found = {name + "=" + words[i + 1]};
    else if (word.starts_with(name + "="))
      found = {word};
    else if (!next && word.starts_with(letter))
      found = {name + "=" + word.substr(2)};
  }
  return found;
}

}  // namespace

std::vector<std::string> account_option(const std::vector<std::string>& words) {
  return option_value(words, "-A", "--account");
}

std::vector<std::string> time_option(const std::vector<std::string>& words) {
  return option_value(words, "-t", "--time");
}

std::vector<std::string> cpus_option(const std::vector<std::string>& words) {
  std::vector<std::string> found = option_value(words, "-c", "--cpus-per-task");
  return found.empty() ? option_value(words, "--cpus-per-gpu", "--cpus-per-gpu") : found;
}

std::vector<std::string> directive_words(const std::vector<std::string>& lines) {
  constexpr std::string_view start = "#SBATCH ";
  std::vector<std::string> words;
  for (const std::string& line : lines) {
    if (!line.empty() && !line.starts_with('#')) break;  // sbatch reads no options behind the first command
    if (line.starts_with(start))
      for (std::string& word : system::shell_words(std::string_view(line).substr(start.size())))
        words.push_back(std::move(word));
  }
  return words;
}

namespace {

using Words = std::vector<std::string>;

void append(Words& to, const Words& from) { to.insert(to.end(), from.begin(), from.end()); }

/// In Slurm's file name patterns, %% is a literal %.
std::string log_pattern(const fs::path& path) {
  std::string pattern;
  for (const char c : path.string()) pattern += c == '%' ? "%%" : std::string(1, c);
  return pattern;
}

/// Cores that each process of a job compiles with unless the user says otherwise. Nodes with GPUs have more for each.
constexpr int default_cpus = 4;

/// Whether the options of a job, or a line of --setup, say how many cores a process gets.
bool names_cpus(const Submission& submission, const Words& options) {
  return !cpus_option(options).empty() || !cpus_option(directive_words(submission.setup)).empty();
}

/// Of a component of the measuring job. 0: what the site or the user's options give.
int cpus_of(const Submission& submission, std::size_t component) {
  // The lines of --setup stand behind the last component, and say nothing of the others.
  const bool is_last = component + 1 == submission.components.size();
  if (is_last ? names_cpus(submission, submission.sbatch) : !cpus_option(submission.sbatch).empty()) return 0;
  const int gpus = submission.components[component].gpus_per_node;
  return submission.cpus_per_task > 0 ? submission.cpus_per_task : gpus > 0 ? default_cpus : 0;
}

std::string cpus_line(int cpus) { return cpus > 0 ? fmt::format("#SBATCH --cpus-per-task={}\n", cpus) : ""; }

/// Options of sbatch as the script has them, so that a saved script can be submitted again.
std::string directive_lines(const Words& options) {
  std::string lines;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const bool value_follows = i + 1 < options.size() && !options[i + 1].starts_with("-");
    std::string line = "#SBATCH " + system::command_line({options[i]});
    if (value_follows) line += " " + system::command_line({options[++i]});
    // What sbatch might read otherwise in a line, it gets as an argument only.
    if (line.find_first_of("\n\\") == std::string::npos) lines += line + "\n";
  }
  return lines;
}

std::string component_lines(const JobComponent& component, int cpus) {
  std::string lines = fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n", component.nodes,
                                  std::max(component.gpus_per_node, 1));
  lines += cpus_line(cpus);
  if (!component.gres.empty())
    lines += "#SBATCH --gres=" + component.gres + "\n";
  else if (component.gpus_per_node > 0)
    lines += fmt::format("#SBATCH --gpus-per-node={}\n", component.gpus_per_node);
  if (!component.constraint.empty()) lines += "#SBATCH --constraint=" + component.constraint + "\n";
  if (!component.partition.empty()) lines += "#SBATCH --partition=" + component.partition + "\n";
  return lines;
}

std::string word_of(const std::string& text) { return system::command_line({text}); }

// If a site passes no environment on, bash sets a PATH but does not export it.
std::string begin(const Submission& submission) {
  std::string text;
  for (const std::string& line : submission.setup) text += line + "\n";
  return text + "set -u\nexport PATH\n";
}

/// log: of sbatch, "--output=...".
std::string header(const Submission& submission, const std::string& step, const std::string& log) {
  return fmt::format("#!/bin/bash\n#SBATCH --job-name=xtune-{}-{}\n", step, submission.name) + directive_lines({log});
}

/// Who pays is the same for all steps; --cpu-option says it otherwise.
Words cpu_job_options(const Submission& submission, const Words& time) {
  Words options = account_option(submission.sbatch);
  append(options, time);
  append(options, submission.compile_sbatch);
  return options;
}

// The measuring nodes must find the same program as this one: its path is absolute, regardless of their PATH.
std::string compile_script(const Submission& submission, const std::string& log, const Words& options) {
  const int cpus = names_cpus(submission, options) ? 0
                   : submission.cpus_per_task > 0  ? submission.cpus_per_task
                                                   : default_cpus;
  return header(submission, "compile", log) + "#SBATCH --ntasks=1\n" + cpus_line(cpus) + directive_lines(options) +
         begin(submission) + system::command_line(compile_command(submission)) + "\n";
}

std::string measure_script(const Submission& submission, const std::string& log) {
  std::string text = header(submission, "measure", log);
  // Only to the steps; the shell below waits for their ends. xtune stops by itself before that: this is for jobs that
  // are ended earlier.
  text += "#SBATCH --signal=USR1@60\n#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  for (std::size_t i = 0; i < submission.components.size(); ++i)
    text += (i > 0 ? "#SBATCH hetjob\n" : "") + component_lines(submission.components[i], cpus_of(submission, i)) +
            directive_lines(submission.sbatch);
  text += begin(submission);
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
    // From Slurm 22.05 on, srun does not take over sbatch's --cpus-per-task.
    const std::string variable =
        heterogeneous ? fmt::format("SLURM_CPUS_PER_TASK_HET_GROUP_{}", i) : std::string("SLURM_CPUS_PER_TASK");
    text += fmt::format(
        "XTUNE_COMPONENT={0} {1} ${{{2}:+--cpus-per-task=${2}}} {3} > \"$folder/answers-{0}.r$attempt.json\" "
        "&\npids+=($!)\n",
        i, system::command_line(srun), variable, system::command_line(run));
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

std::string merge_script(const Submission& submission, const std::string& log, const Words& options) {
  const std::string program = word_of(submission.program.string());
  const std::string store = word_of(submission.store.string()), name = word_of(submission.name);
  return header(submission, "merge", log) + "#SBATCH --ntasks=1\n" + directive_lines(options) + begin(submission) +
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
  const auto log = [&](const std::string& step) {
    return "--output=" + log_pattern(submission.folder / (step + "-")) + "%j.log";
  };
  if (submission.compile_job && !compile_command(submission).empty()) {
    // Not longer than what is waited for.
    const Words options = cpu_job_options(submission, time_option(submission.sbatch));
    steps.push_back({"compile", compile_script(submission, log("compile"), options), {"--parsable", log("compile")}});
    append(steps.back().arguments, options);
  }
  steps.push_back({"measure", measure_script(submission, log("measure")), {"--parsable", log("measure")}});
  append(steps.back().arguments, submission.sbatch);
  // sbatch takes the options of each component separately: a given limit applies to all.
  for (std::size_t i = 1; i < submission.components.size(); ++i) {
    steps.back().arguments.emplace_back(":");
    append(steps.back().arguments, submission.sbatch);
  }
  // Many sites refuse a job without a limit.
  const Words options = cpu_job_options(submission, {"--time=30"});
  steps.push_back({"merge", merge_script(submission, log("merge"), options), {"--parsable", log("merge")}});
  append(steps.back().arguments, options);
  return steps;
}

}  // namespace xtune::cluster
