// Components from words of the command line; stored facts about submissions; their scripts.
#include "cluster/submission.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "system/subprocess.hpp"
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

/// A value that directives accept without quoting.
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
  const Words keys{"nodes", "gpus-per-node", "gres", "constraint", "partition"};
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

fs::path submission_folder(const fs::path& store, const std::string& name) { return store / "submissions" / name; }

namespace {

/// Of an attempt: its script (sh), and the note of its job (job).
fs::path attempt_file(const fs::path& folder, const std::string& step, std::size_t attempt, const char* kind) {
  return folder / fmt::format("{}.r{}.{}", step, attempt, kind);
}
template <class T>
nlohmann::json optional_json(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
std::optional<double> optional_number(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_number() ? std::optional<double>(json[key]) : std::nullopt;
}

}  // namespace

void write_submission(const Submission& submission, const std::vector<JobStep>& steps) {
  nlohmann::json json{{"xtune_submission", 1},
                      {"name", submission.name},
                      {"specs", nlohmann::json::array()},
                      {"scheduler", submission.system->id},
                      {"max_jobs", submission.max_jobs},
                      {"gpu_hours", optional_json(gpu_hours(submission))},
                      {"max_gpu_hours", optional_json(submission.max_gpu_hours)},
                      {"steps", nlohmann::json::array()}};
  for (const std::string& spec : submission.specs) json["specs"].push_back(base::printable(spec));
  for (const JobStep& step : steps) json["steps"].push_back({{"step", step.name}, {"arguments", step.arguments}});
  system::write_file_atomically(submission.folder / "submission.json", json.dump(2) + "\n");
}

std::string SubmittedJob::name() const { return attempt == 0 ? step : fmt::format("{}.r{}", step, attempt); }

std::string note_job(const fs::path& folder, const SubmittedJob& job) {
  const std::string note = agree_on(attempt_file(folder, job.step, job.attempt, "job"), job.id + "\n");
  return note.substr(0, note.find('\n'));
}

SubmittedJob following_job(const Submitted& submitted, std::size_t attempt) {
  SubmittedJob job{"measure", attempt + 1, ""};
  for (const SubmittedJob& each : submitted.jobs)
    if (each.step == job.step && each.attempt > attempt) job = each;
  while (job.id.empty() && fs::exists(attempt_file(submitted.folder, job.step, job.attempt, "sh"))) {
    job.id = note_job(submitted.folder, job);
    job.attempt += job.id.empty();
  }
  return job;
}

std::string end_of_chain(const Submitted& submitted) {
  const auto jobs = std::count_if(submitted.jobs.begin(), submitted.jobs.end(),
                                  [](const SubmittedJob& each) { return each.step == "measure"; });
  if (fs::exists(submitted.folder / "stop")) return (submitted.folder / "stop").string() + " ends the chain";
  if (jobs >= submitted.max_jobs) return fmt::format("it has had {} jobs (--max-jobs {})", jobs, submitted.max_jobs);
  const double hours = submitted.gpu_hours.value_or(0);
  if (submitted.max_gpu_hours && static_cast<double>(jobs + 1) * hours > *submitted.max_gpu_hours)
    return fmt::format(
        "its {} jobs asked for {:.3g} GPU hours, and another one asks for {:.3g} more (--max-gpu-hours "
        "{:g})",
        jobs, static_cast<double>(jobs) * hours, hours, *submitted.max_gpu_hours);
  return "";
}

namespace {

std::string attempt_line(std::size_t attempt) { return fmt::format("attempt={}\n", attempt); }

}  // namespace

fs::path write_attempt(const Submitted& submitted, const std::string& step, std::size_t attempt) {
  std::string text = system::read_file(submitted.folder / (step + ".sh"), 1 << 20);
  const std::string line = "\n" + attempt_line(0);
  if (const std::size_t at = text.find(line); at != std::string::npos)
    text.replace(at, line.size(), "\n" + attempt_line(attempt));
  const fs::path script = attempt_file(submitted.folder, step, attempt, "sh");
  system::write_file_atomically(script, text);
  return script;
}

Submitted read_submission(const fs::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(system::read_file(folder / "submission.json", 1 << 20));
  Submitted submitted{json.at("name"), folder, {}, {}, json.value("scheduler", ""), json.value("max_jobs", 1)};
  submitted.gpu_hours = optional_number(json, "gpu_hours");
  submitted.max_gpu_hours = optional_number(json, "max_gpu_hours");
  std::size_t attempt = 0;
  do {
    for (const nlohmann::json& step : json.at("steps")) {
      SubmittedJob job{step.at("step"), attempt, ""};
      submitted.arguments[job.step] = step.value("arguments", Words());
      const std::string note = system::read_if_there(attempt_file(folder, job.step, attempt, "job"));
      job.id = note.empty() && attempt == 0 ? step.value("job", "")  // of an earlier version of xtune
                                            : note.substr(0, note.find('\n'));
      if (!job.id.empty()) submitted.jobs.push_back(std::move(job));
    }
  } while (fs::exists(attempt_file(folder, "measure", ++attempt, "sh")));
  return submitted;
}

std::vector<Submitted> read_submissions(const fs::path& store) {
  std::multimap<fs::file_time_type, Submitted> dated;
  std::error_code error;
  for (fs::directory_iterator entry(store / "submissions", error), end; !error && entry != end;
       entry.increment(error)) {
    try {
      dated.emplace(fs::last_write_time(entry->path() / "submission.json"), read_submission(entry->path()));
    } catch (const std::exception&) {  // not submitted completely, or damaged: it cannot be listed
    }
  }
  std::vector<Submitted> list;
  for (auto& [time, submitted] : dated) list.push_back(std::move(submitted));
  return list;
}

// The scripts: values are passed to the shell as quoted words, and to the submit command as separate arguments.

namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

}  // namespace

void check_options(const BatchSystem& system, const Words& words, const std::string& source) {
  const BatchSystem::Given& given = system.given;
  const RE2 takes_value(given.takes_value, RE2::Quiet), array(given.array, RE2::Quiet);
  std::int64_t values = 0;  // that may follow
  for (const std::string& word : words) {
    if (word == "--" || (!is_option(word) && values-- <= 0))
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("{}: '{}' is not an option, and {} would take it for the script; xtune submit writes that "
                      "itself, and takes only options of {} there{}",
                      source, base::printable(word, 80), fmt::join(system.submit.command, " "),
                      fmt::join(system.submit.command, " "),
                      given.time.empty() ? "" : ", such as " + given.time.front().first + "2:00:00"));
    if (is_option(word) && !given.array.empty() && RE2::FullMatch(word, array))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: {} would do the whole submission once for each index of the array; more processes "
                              "in one search come from --nodes and --gpus-per-node",
                              source, base::printable(word, 80)));
    if (is_option(word)) values = RE2::FullMatch(word, takes_value) ? given.values : 0;
  }
}

Words directive_words(const BatchSystem& system, const Words& lines) {
  const std::string start = system.options.prefix + " ";
  Words words;
  for (const std::string& line : lines) {
    if (!line.empty() && !line.starts_with('#')) break;  // no options are read behind the first command
    if (line.starts_with(start))
      for (std::string& word : system::shell_words(std::string_view(line).substr(start.size())))
        words.push_back(std::move(word));
  }
  return words;
}

bool asks_for_gpus(const Submission& submission, const JobComponent& component) {
  const RE2 gpus(submission.system->given.gpus, RE2::Quiet);
  const auto asks = [&gpus](const Words& options) {
    return std::any_of(options.begin(), options.end(), [&](const auto& word) { return RE2::FullMatch(word, gpus); });
  };
  return component.gpus_per_node > 0 || !component.gres.empty() || asks(submission.options) ||
         asks(directive_words(*submission.system, submission.setup));
}

std::optional<double> gpu_hours(const Submission& submission) {
  const std::string time = given_option(submission.system->given.time, submission.options).value;
  const auto seconds = parse_duration(time, &submission.system->options);
  if (!seconds) return std::nullopt;
  double gpus = 0;
  for (const JobComponent& component : submission.components) {
    if (component.gpus_per_node == 0 && asks_for_gpus(submission, component)) return std::nullopt;
    gpus += component.nodes * component.gpus_per_node;
  }
  return gpus * *seconds / 3600;
}

namespace {

void append(Words& to, const Words& from) { to.insert(to.end(), from.begin(), from.end()); }

/// Cores that each process of a job compiles with unless the user says otherwise. Nodes with GPUs have more for each.
constexpr int default_cpus = 4;

/// Writes the scripts of one submission.
class Scripts {
 public:
  explicit Scripts(const Submission& submission) : submission_(submission), system_(*submission.system) {}

  JobStep compile() const {
    // Not longer than what is waited for.
    const Words options = cpu_job_options(given_option(system_.given.time, submission_.options).words);
    const int cpus = names_cores(options)            ? 0
                     : submission_.cpus_per_task > 0 ? submission_.cpus_per_task
                                                     : default_cpus;
    return single("compile", cpus, options, "", system::command_line(compile_command(submission_)) + "\n");
  }

  JobStep merge() const {
    // Many sites refuse a job without a limit.
    constexpr double limit_s = 1800;
    const Words options =
        cpu_job_options(fill_words(system_.options.time, {{"time", write_duration(limit_s, system_.options)}}));
    const std::string program = word_of(submission_.program.string());
    const std::string store = word_of(submission_.store.string()), name = word_of(submission_.name);
    return single("merge", 0, options, attempt_line(0) + "folder=" + word_of(submission_.folder.string()) + "\n",
                  fmt::format("{0} && exit  # the search goes on in a later job, for which another merge waits\n"
                              "{1} store verify --store {2} > \"$folder/verify.txt\" 2>&1\n"
                              "{1} status {3} --store {2} --format json > \"$folder/status.json\"\n"
                              "{1} status {3} --store {2}\n",
                              continuation("merge"), program, store, name));
  }

  JobStep measure() const {
    std::string text = header("measure") + directive_lines(fill_words(system_.options.measure, {}));
    for (std::size_t i = 0; i < submission_.components.size(); ++i)
      text += (i > 0 ? system_.options.prefix + " " + system_.components.directive + "\n" : "") +
              directive_lines(fill_words(system_.options.component, component_values(i))) +
              directive_lines(submission_.options);
    text += begin() + attempt_line(0);
    const bool on_hosts = system_.start.command.empty();
    if (on_hosts) text += "if [ \"${1-}\" = rank ]; then attempt=$2; fi\n";
    text += "export XTUNE_STUDY=" + word_of(submission_.name) + ".r$attempt\n";
    text += "folder=" + word_of(submission_.folder.string()) + "\n";
    if (on_hosts) text += rank_lines();
    text += continuation("measure") + " --start && exit\n";
    text += "pids=()\n" + (on_hosts ? start_on_hosts() : start_by_command());
    text += "continue_search() {\n  " + continuation("measure") + "\n}\n";
    // If a process is killed, a start command's code is that one's, although the others stopped in time.
    text +=
        fmt::format("stopped_in_time() {{\n  {} status \"$XTUNE_STUDY\" --store {} --format json | grep -q {}\n}}\n",
                    word_of(submission_.program.string()), word_of(submission_.store.string()),
                    word_of("\"state\": \"interrupted\""));
    // The continuation waits for the end of this job; submitting it first leaves the most time for it.
    text += fmt::format("trap 'kill -TERM \"${{pids[@]}}\" 2>/dev/null; continue_search; wait; exit 143' {}\n",
                        fmt::join(system_.start.warnings, " "));
    text +=
        "worst=0 again=no\n"
        "for pid in \"${pids[@]}\"; do\n"
        "  wait \"$pid\"\n"
        "  code=$?\n"
        "  [ \"$code\" = 130 ] && again=yes\n"
        "  [ \"$code\" -gt 130 ] && stopped_in_time && again=yes\n"
        "  [ \"$code\" -gt \"$worst\" ] && worst=$code\n"
        "done\n";
    text += "[ \"$again\" = yes ] && continue_search && exit\nexit \"$worst\"\n";
    JobStep step{"measure", text, first_arguments("measure")};
    append(step.arguments, submission_.options);
    // The submit command takes the options of each component separately: a given limit applies to all.
    for (std::size_t i = 1; i < submission_.components.size(); ++i) {
      step.arguments.push_back(system_.components.argument);
      append(step.arguments, submission_.options);
    }
    return step;
  }

 private:
  static std::string word_of(const std::string& text) { return system::command_line({text}); }

  /// Submits the next job of a step; fails if none follows.
  std::string continuation(const std::string& step) const {
    return fmt::format("{} continue {} --step {} --attempt \"$attempt\" --store {}",
                       word_of(submission_.program.string()), word_of(submission_.name), step,
                       word_of(submission_.store.string()));
  }

  JobStep single(const std::string& step, int cpus, const Words& options, const std::string& variables,
                 const std::string& commands) const {
    Values values;
    if (cpus > 0) values["cores"] = std::to_string(cpus);
    JobStep made{step,
                 header(step) + directive_lines(fill_words(system_.options.single, values)) + directive_lines(options) +
                     begin() + variables + commands,
                 first_arguments(step)};
    append(made.arguments, options);
    return made;
  }

  Words log_option(const std::string& step) const {
    std::string path;
    for (const char c : (submission_.folder / (step + "-")).string()) {
      const auto escaped = std::find_if(system_.options.escape.begin(), system_.options.escape.end(),
                                        [c](const auto& each) { return each.first == std::string(1, c); });
      path += escaped == system_.options.escape.end() ? std::string(1, c) : escaped->second.text;
    }
    return fill_words(system_.options.log, {{"log", path}, {"folder", submission_.folder.string()}});
  }

  Words first_arguments(const std::string& step) const {
    Words words = system_.submit.options;
    append(words, log_option(step));
    return words;
  }

  std::string header(const std::string& step) const {
    return "#!/bin/bash\n" +
           directive_lines(fill_words(system_.options.job, {{"name", "xtune-" + step + "-" + submission_.name}})) +
           directive_lines(log_option(step));
  }

  // If a site passes no environment on, bash sets a PATH but does not export it.
  std::string begin() const {
    std::string text;
    for (const std::string& line : submission_.setup) text += line + "\n";
    text += "export XTUNE_SCHEDULER=" + word_of(system_.id) + "\n";
    return text + "set -u\nexport PATH\n";
  }

  /// Options as the script has them, so that a saved script can be submitted again.
  std::string directive_lines(const Words& options) const {
    std::string lines;
    for (std::size_t i = 0; i < options.size(); ++i) {
      std::string line = system_.options.prefix + " " + system::command_line({options[i]});
      while (i + 1 < options.size() && !options[i + 1].starts_with("-"))
        line += " " + system::command_line({options[++i]});
      // What might be read otherwise in a line is an argument only.
      if (line.find_first_of("\n\\") == std::string::npos) lines += line + "\n";
    }
    return lines;
  }

  /// Whether the options of a job, or a line of --setup, say how many cores a process gets.
  bool names_cores(const Words& options) const {
    return !given_option(system_.given.cores, options).words.empty() ||
           !given_option(system_.given.cores, directive_words(system_, submission_.setup)).words.empty();
  }

  /// Of a component of the measuring job. 0: what the site or the user's options give.
  int cores_of(std::size_t component) const {
    // The lines of --setup stand behind the last component, and say nothing of the others.
    const bool is_last = component + 1 == submission_.components.size();
    if (is_last ? names_cores(submission_.options)
                : !given_option(system_.given.cores, submission_.options).words.empty())
      return 0;
    const int gpus = submission_.components[component].gpus_per_node;
    return submission_.cpus_per_task > 0 ? submission_.cpus_per_task : gpus > 0 ? default_cpus : 0;
  }

  Values component_values(std::size_t number) const {
    const JobComponent& component = submission_.components[number];
    const int ranks = std::max(component.gpus_per_node, 1), cores = cores_of(number);
    const auto text = [](int value) { return std::to_string(value); };
    Values values{{"nodes", text(component.nodes)},
                  {"ranks_per_node", text(ranks)},
                  {"ranks", text(component.nodes * ranks)},
                  {"slots", text(component.nodes * ranks * std::max(cores, 1))},
                  {"node_cores", text(ranks * std::max(cores, 1))},
                  {"cores_or_1", text(std::max(cores, 1))}};
    if (cores > 0) values["cores"] = text(cores);
    if (component.gpus_per_node > 0) values["gpus_per_rank"] = "1";
    if (submission_.components.size() > 1) values["component"] = text(static_cast<int>(number));
    if (!component.gres.empty())
      values["gres"] = component.gres;
    else if (component.gpus_per_node > 0)
      values["gpus_per_node"] = text(component.gpus_per_node);
    if (!component.constraint.empty()) values["constraint"] = component.constraint;
    if (!component.partition.empty()) values["queue"] = component.partition;
    return values;
  }

  /// Who pays is the same for all steps; --cpu-option says it otherwise.
  Words cpu_job_options(const Words& time) const {
    Words options = given_option(system_.given.account, submission_.options).words;
    append(options, time);
    append(options, submission_.compile_options);
    return options;
  }

  // The measuring nodes must find the same program as this one: its path is absolute, regardless of their PATH.
  std::string run_command() const {
    Words run{submission_.program.string(), "run"};
    append(run, submission_.specs);
    append(run, {"--store", submission_.store.string(), "--format", "json"});
    append(run, submission_.run_arguments);
    return system::command_line(run);
  }

  std::string start_by_command() const {
    std::string text;
    for (std::size_t i = 0; i < submission_.components.size(); ++i)
      text += fmt::format("XTUNE_COMPONENT={0} {1} {2} > \"$folder/answers-{0}.r$attempt.json\" &\npids+=($!)\n", i,
                          fill(system_.start.command, component_values(i)).value_or(""), run_command());
    return text;
  }

  /// What the script does on the hosts: it is one process, which chooses a GPU of the host by its number there.
  std::string rank_lines() const {
    std::string text =
        "if [ \"${1-}\" = rank ]; then\n"
        "  export XTUNE_RANK=$3 XTUNE_RANKS=$4 XTUNE_LOCAL_RANKS=$6 XTUNE_COMPONENT=0\n";
    if (submission_.components[0].gpus_per_node > 0)
      text +=
          "  devices=CUDA_VISIBLE_DEVICES\n"
          "  [ -e /dev/kfd ] && devices=ROCR_VISIBLE_DEVICES\n"
          "  IFS=, read -ra given <<< \"${!devices-}\"\n"
          "  if [ \"${#given[@]}\" = 0 ]; then export \"$devices=$5\"; else export "
          "\"$devices=${given[$(($5 % ${#given[@]}))]}\"; fi\n";
    return text + "  exec " + run_command() + " >> \"$folder/answers-0.r$attempt.json\"\nfi\n";
  }

  std::string start_on_hosts() const {
    Values values = component_values(0);
    values["host"] = "\"$host\"";
    return fmt::format(
        "mapfile -t hosts < <({})\n"
        "[ \"${{#hosts[@]}}\" -gt 0 ] || exit 1\n"
        "declare -A here there\n"
        "for host in \"${{hosts[@]}}\"; do here[$host]=$((${{here[$host]-0}} + 1)); done\n"
        "for rank in \"${{!hosts[@]}}\"; do\n"
        "  host=${{hosts[rank]}} local=${{there[${{hosts[rank]}}]-0}}\n"
        "  there[$host]=$((local + 1))\n"
        "  {} bash \"$folder/measure.sh\" rank \"$attempt\" \"$rank\" \"${{#hosts[@]}}\" \"$local\" "
        "\"${{here[$host]}}\" &\n"
        "  pids+=($!)\n"
        "done\n",
        fill(system_.start.hosts, values).value_or(""), fill(system_.start.on_host, values).value_or(""));
  }

  const Submission& submission_;
  const BatchSystem& system_;
};

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
  const Scripts scripts(submission);
  std::vector<JobStep> steps;
  if (submission.compile_job && !compile_command(submission).empty()) steps.push_back(scripts.compile());
  steps.push_back(scripts.measure());
  steps.push_back(scripts.merge());
  return steps;
}

Words submit_command(const BatchSystem& system, const Words& arguments, const fs::path& script,
                     const std::string& after) {
  const BatchSystem::Submit& submit = system.submit;
  const auto job = current_job();
  Words words = job && job->system->id == system.id && !submit.inside.empty() ? submit.inside : submit.command;
  if (!after.empty()) append(words, fill_words(submit.dependency, {{"job", after}}));
  append(words, arguments);
  if (!submit.script_on_stdin) words.push_back(script.string());
  return words;
}

std::string submit_step(const BatchSystem& system, const Words& command, const fs::path& script) {
  system::CommandOptions options;
  options.timeout_ms = 60'000;
  if (system.submit.script_on_stdin) options.stdin_text = system::read_file(script, 1 << 20);
  system::CommandResult result;
  try {
    result = system::run_command(command, options);
  } catch (const Error& error) {
    throw Error(ErrorKind::unavailable,
                fmt::format("{}; --dry-run prints the scripts for another machine", error.what()));
  }
  const std::string job = job_in_answer(system, result.stdout_text);
  if (result.ok() && !job.empty()) return job;
  const std::string answer = result.stdout_text.substr(0, result.stdout_text.find_last_not_of(" \n") + 1);
  throw Error(ErrorKind::unavailable,
              fmt::format("{} {}\n{}", base::printable(system::command_line(command), 500),
                          result.ok() ? "printed no job number:" +
                                            base::printable(" " + answer.substr(answer.rfind('\n') + 1), 80)
                                      : "failed: " + system::describe_exit(result.exit_code, result.signal),
                          base::printable_lines(result.stderr_text, 2000)));
}

}  // namespace xtune::cluster
