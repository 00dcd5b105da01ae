// xtune submit: a suite as jobs of Slurm: compile, measure on each type of GPU, merge. xtune status: their progress,
// from its files and from Slurm.

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <map>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/direct_spec.hpp"
#include "cluster/progress.hpp"
#include "cluster/shared_study.hpp"
#include "cluster/submission.hpp"
#include "cluster/walltime.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/process_spec.hpp"
#include "core/store/record.hpp"
#include "report/text/run_report.hpp"
#include "system/shell_words.hpp"
#include "system/subprocess.hpp"

namespace xtune::cli {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct SubmitOptions {
  const CLI::App* command = nullptr;
  CommonOptions common;
  Words paths, components, compile_sbatch, setup;
  int nodes = 1, gpus_per_node = 0, cpus_per_task = 0, restarts = 20;
  std::string compile = "login";
  bool dry_run = false;
};

/// The first file's name, the time and a unique part.
std::string new_name(const std::string& path) {
  std::string stem = fs::path(path).stem().string();
  for (char& c : stem)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '-';
  return fmt::format("{}-{:%Y%m%d-%H%M%S}-{}", stem.substr(0, 40), fmt::gmtime(std::time(nullptr)),
                     store::new_attempt().substr(0, 4));
}

cluster::Submission submission_of(const SubmitOptions& options) {
  cluster::Submission submission;
  submission.name = new_name(options.paths.front());
  submission.store = fs::absolute(options.common.store_path()).lexically_normal();
  submission.folder = cluster::submission_folder(submission.store, submission.name);
  submission.program = system::own_executable();
  for (const std::string& path : options.paths)
    submission.specs.push_back(fs::absolute(path).lexically_normal().string());
  submission.sbatch = words_behind_dashes();
  submission.compile_sbatch = options.compile_sbatch;
  submission.cpus_per_task = options.cpus_per_task;
  submission.setup = options.setup;
  submission.compile_job = options.compile == "job";
  submission.restarts = options.restarts;
  for (const std::string& text : options.components) submission.components.push_back(cluster::parse_component(text));
  if (submission.components.empty())
    submission.components.push_back({options.common.arch, options.nodes, options.gpus_per_node, "", "", ""});
  Words& run = submission.run_arguments;
  if (options.common.backend != "auto") run.insert(run.end(), {"--backend", options.common.backend});
  if (options.common.compiler != "auto") run.insert(run.end(), {"--compiler", options.common.compiler});
  for (const std::string& define : options.common.defines) run.insert(run.end(), {"-D", define});
  for (const std::string& filter : options.common.filters) run.insert(run.end(), {"--filter", filter});
  return submission;
}

/// Errors in options or a spec must be reported now, not when the job starts. Returns whether a spec may use a GPU.
bool check(const SubmitOptions& options) {
  const CLI::App& command = *options.command;
  for (const char* option : {"--nodes", "--gpus-per-node", "--arch"})
    if (!options.components.empty() && command.count(option) > 0)
      throw bad_argument(
          "{} and --arch-component: say it in each component, "
          "[ARCH:]nodes=2,gpus-per-node=4,...",
          option);
  if (command.count("--device") > 0)
    throw bad_argument("--device: each process of the job has the devices that Slurm gives it (--gpus-per-node)");
  cluster::check_sbatch_options(words_behind_dashes(), "behind --");
  cluster::check_sbatch_options(options.compile_sbatch, "--cpu-option");
  const std::pair<const char*, Words> given[] = {{"behind --", words_behind_dashes()},
                                                 {"in --setup", cluster::directive_words(options.setup)}};
  for (const auto& [place, words] : given)
    if (command.count("--cpus-per-task") > 0 && !cluster::cpus_option(words).empty())
      throw bad_argument("--cpus-per-task {} and {} {}: write only one of them", options.cpus_per_task,
                         cluster::cpus_option(words).front(), place);
  if (options.common.backend != "replay") device::backends_for(options.common.backend);
  bool may_use_gpus = false;
  for (const SpecList::Item& item : list_specs(options.paths).items) {
    const spec::Spec spec = read_spec(item.path, options_for(item, options.common), "");
    may_use_gpus = may_use_gpus || (!spec.replays() && !(spec.process && spec.process->device == "host"));
  }
  const std::string& backend = options.common.backend;
  return may_use_gpus && backend != "host" && backend != "replay" && backend != "kokkos";
}

Words sbatch_command(const cluster::JobStep& step, const fs::path& script, const std::string& after) {
  Words words{"sbatch"};
  // For the first component of a heterogeneous job, for which the others wait.
  words.insert(words.end(), step.arguments.begin(), step.arguments.end());
  if (!after.empty()) words.insert(words.begin() + 1, "--dependency=afterany:" + after);
  words.push_back(script.string());
  return words;
}

int print_scripts(const cluster::Submission& submission, const std::vector<cluster::JobStep>& steps,
                  const SubmitOptions& options) {
  Json json{{"name", submission.name}, {"folder", submission.folder.string()}};
  json["steps"] = Json::array();
  const Words compile = options.compile == "login" ? cluster::compile_command(submission) : Words();
  if (!compile.empty()) {
    json["compile_here"] = compile;
    if (!options.common.json()) print_exactly("# here: {}\n\n", base::printable(system::command_line(compile)));
  }
  std::string after;
  for (const cluster::JobStep& step : steps) {
    const Words command = sbatch_command(step, submission.folder / (step.name + ".sh"), after);
    after = "<" + step.name + ">";
    json["steps"].push_back({{"step", step.name}, {"sbatch", command}, {"script", step.script}});
    if (!options.common.json())
      print_exactly("# {}\n{}\n", base::printable(system::command_line(command)), step.script);
  }
  if (options.common.json()) print_json(json);
  return done;
}

std::string submit_step(const Words& command) {
  system::CommandOptions options;
  options.timeout_ms = 60'000;
  system::CommandResult result;
  try {
    result = system::run_command(command, options);
  } catch (const Error& error) {
    throw Error(ErrorKind::unavailable,
                fmt::format("{}; --dry-run prints the scripts for another machine", error.what()));
  }
  // "123" or "123;cluster"; messages of a site's plugin come before it.
  std::string answer = result.stdout_text.substr(0, result.stdout_text.find_last_not_of(" \n") + 1);
  answer = answer.substr(answer.rfind('\n') + 1);
  answer = answer.substr(0, answer.find(';'));
  if (!result.ok() || answer.empty() || answer.find_first_not_of("0123456789") != std::string::npos)
    throw Error(ErrorKind::unavailable,
                fmt::format("{} {}\n{}", base::printable(system::command_line(command), 500),
                            result.ok() ? "printed no job number:" + base::printable(" " + answer, 80)
                                        : "failed: " + system::describe_exit(result.exit_code, result.signal),
                            base::printable_lines(result.stderr_text, 2000)));
  return answer;
}

/// Queued steps are kept if a later one is refused: the measurements are worth more than the merge.
std::string queued_text(const std::vector<cluster::SubmittedStep>& queued) {
  std::string steps, jobs;
  for (const cluster::SubmittedStep& each : queued) {
    steps += (steps.empty() ? "" : ", ") + each.step + ": job " + each.job;
    jobs += " " + each.job;
  }
  return steps.empty() ? "" : fmt::format("\nalready queued are {}; `scancel{}` cancels them", steps, jobs);
}

/// Many sites keep home directories off the compute nodes, or slow and small.
void warn_of_home(const fs::path& store) {
  const char* const home = std::getenv("HOME");
  if (!home || !*home) return;
  const fs::path inside = store.lexically_relative(fs::path(home) / ".cache");
  if (inside.empty() || *inside.begin() == "..") return;
  tell(
      "warning: the store {} is in the home directory, which compute nodes may not see; --store or XTUNE_CACHE_DIR "
      "names a directory that all nodes share\n",
      base::printable(store.string()));
}

/// A job gets no GPU unless it asks for one: by xtune's options, or those of sbatch.
void warn_of_no_gpu(const cluster::Submission& submission) {
  const auto asks = [](const std::string& word) {
    return word.find("gpu") != std::string::npos || word.starts_with("-G");
  };
  const Words& sbatch = submission.sbatch;
  if (std::any_of(sbatch.begin(), sbatch.end(), asks) ||
      std::any_of(submission.setup.begin(), submission.setup.end(), asks) ||
      std::any_of(submission.components.begin(), submission.components.end(),
                  [](const auto& each) { return each.gpus_per_node > 0 || !each.gres.empty(); }))
    return;
  tell(
      "warning: the job asks Slurm for no GPU, so it tunes on the CPU: --gpus-per-node N asks for N on each node, and "
      "--backend host says that the CPU is meant\n");
}

int submit(const SubmitOptions& options) {
  const bool may_use_gpus = check(options);
  const cluster::Submission submission = submission_of(options);
  if (may_use_gpus) warn_of_no_gpu(submission);
  warn_of_home(submission.store);
  const std::vector<cluster::JobStep> steps = cluster::job_steps(submission);
  if (options.dry_run) return print_scripts(submission, steps, options);
  if (options.compile == "login") {
    const Words compile = cluster::compile_command(submission);
    if (compile.empty())
      tell("note: no architecture is named (--arch, --arch-component ARCH:...): the job compiles as it goes\n");
    else if (::isatty(STDERR_FILENO))
      tell("compiling: {}\n", base::printable(system::command_line(compile), 300));
    // What cannot be compiled here, for example without a compiler, is compiled in the job.
    if (!compile.empty()) {
      const system::CommandResult result = system::run_command(compile);
      if (!result.ok())
        tell("warning: {}: {}; the job compiles what is missing\n", base::printable(system::command_line(compile), 300),
             base::printable(result.stderr_text, 500));
    }
  }
  std::vector<cluster::SubmittedStep> submitted;
  Json json{{"name", submission.name}, {"folder", submission.folder.string()}};
  json["steps"] = Json::array();
  std::string after;
  for (const cluster::JobStep& step : steps) {
    const fs::path script = submission.folder / (step.name + ".sh");
    system::write_file_atomically(script, step.script);
    try {
      after = submit_step(sbatch_command(step, script, after));
    } catch (const Error& error) {
      throw Error(error.kind(), error.what() + queued_text(submitted));
    }
    submitted.push_back({step.name, after});
    // After each: if the next one is refused, the queued ones can still be found.
    cluster::write_submission(submission, submitted);
    json["steps"].push_back({{"step", step.name}, {"job", after}});
    if (!options.common.json()) print_out("{}: job {}\n", step.name, after);
  }
  if (options.common.json())
    print_json(json);
  else
    print_exactly("follow it with: xtune status {} --store {} --watch\n", submission.name,
                  base::printable(system::command_line({submission.store.string()})));
  return done;
}

}  // namespace

void add_submit_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<SubmitOptions>(app, context, "submit", "Tune specs in batch jobs of Slurm", "", submit);
  command.footer(
      "The jobs compile, measure on each type of GPU, and merge. Options of sbatch follow `--`.\n\nExample:\n"
      "  xtune submit configs/suite.toml --nodes 4 --gpus-per-node 4 -- --time=2:00:00 -A project");
  options.command = &command;
  add_specs_argument(command, options.paths);
  const OptionGroup job(command, option_group::job);
  const auto count = [&job](const char* name, int& target, std::uint64_t least, const char* text) {
    job.number(name, target, least, text, 1'000'000)->capture_default_str();
  };
  count("--nodes", options.nodes, 1, "Ask for N nodes");
  count("--gpus-per-node", options.gpus_per_node, 0,
        "Ask for N GPUs of each node, with a process for each; 0: one process without a GPU");
  count("--cpus-per-task", options.cpus_per_task, 0,
        "Ask for N cores for each process; 0: 4 with GPUs and for --compile job, else what the site gives");
  job.list("--setup", options.setup, "LINE",
           "Put a line into the scripts before anything runs: --setup \"module load cuda\"");
  job.list("--arch-component", options.components, "TEXT",
           "Add one of several types of GPU: [ARCH:]nodes=2,KEY=VALUE,... with the keys gpus-per-node, gres, "
           "constraint and partition; each is a component of one heterogeneous job");
  job.words("--compile", options.compile, {"login", "job", "none"},
            "Compile for the architectures that are named on the login node, now, in its own job before, or while "
            "measuring");
  job.list("--cpu-option", options.compile_sbatch, "OPTION",
           "Pass an option to sbatch for the jobs that need no GPU: --cpu-option=--partition=cpu");
  count("--restarts", options.restarts, 0, "Start a job again up to N times when its time ends");
  add_common_options(command, options.common);
  command.get_option("--device")->group("");  // refused with a reason
  OptionGroup(command, option_group::output)
      .flag("--dry-run", options.dry_run, "Print the scripts, and submit nothing");
  add_store_option(command, options.common.store);
}

namespace {

struct StatusOptions : CommonOptions {
  std::string what;
  bool watch = false;
  double every_s = 5;
};

/// A submission with its attempts, or one study.
struct Subject {
  std::string name;
  std::optional<cluster::Submitted> submission;
  std::vector<std::string> studies;
};

Subject subject_of(cluster::Submitted submission) {
  Subject subject{submission.name, std::nullopt, {}};
  for (int i = 0; i <= submission.restarts; ++i) subject.studies.push_back(cluster::attempt_study(submission.name, i));
  subject.submission = std::move(submission);
  return subject;
}

Subject find_subject(const std::filesystem::path& store, const std::string& what) {
  const std::vector<cluster::Submitted> submissions = cluster::read_submissions(store);
  const std::vector<std::string> studies = cluster::studies_in(store);
  for (auto each = submissions.rbegin(); each != submissions.rend(); ++each)
    if (what.empty() || each->name == what ||
        std::any_of(each->steps.begin(), each->steps.end(), [&](const auto& step) { return step.job == what; }))
      return subject_of(*each);
  for (auto study = studies.rbegin(); study != studies.rend(); ++study) {
    // All steps and attempts of a job whose number is given: slurm-17.0, slurm-17.0-r1.
    const bool of_job = study->starts_with("slurm-" + what + ".");
    if (what.empty() || cluster::is_run_of(*study, what) || of_job) {
      Subject subject{*study, std::nullopt, {*study}};
      if (of_job) {
        subject.name = "job " + what;
        subject.studies.clear();
        for (const std::string& other : studies)
          if (other.starts_with("slurm-" + what + ".")) subject.studies.push_back(other);
      }
      return subject;
    }
  }
  std::vector<std::string> names = studies;
  for (const cluster::Submitted& each : submissions) names.push_back(each.name);
  const std::string where = base::printable(store.string());
  throw Error(ErrorKind::invalid_argument,
              what.empty() ? fmt::format("{} has no jobs to show: `xtune submit` makes one, and so do processes that "
                                         "srun or mpirun starts (--store names another store)",
                                         where)
                           : fmt::format("{} has no job, submission or study '{}'{} (--store names another store)",
                                         where, base::printable(what, 80), base::did_you_mean(what, names)));
}

/// States such as "RUNNING", by job; for jobs that have left the queue they come from the accounting, if there is one.
std::map<std::string, std::string> job_states(const std::vector<std::string>& jobs) {
  std::map<std::string, std::string> states;
  if (jobs.empty()) return states;
  const std::string list = fmt::format("{}", fmt::join(jobs, ","));
  const auto read = [&](const std::string& lines) {
    for (const std::string_view line : base::split_lines(lines))
      // "17+0" for a heterogeneous job; "17_1", "17_[2-4]" for an array.
      if (const std::size_t bar = line.find('|'); bar != std::string_view::npos)
        states.try_emplace(std::string(line.substr(0, line.find_first_of("+_|"))), line.substr(bar + 1));
  };
  read(cluster::ask_program({"squeue", "-h", "-t", "all", "-j", list, "-o", "%i|%T"}));
  if (states.size() < jobs.size())
    read(cluster::ask_program({"sacct", "-n", "-X", "-P", "-j", list, "-o", "JobID,State"}));
  return states;
}

Json status_json(const Subject& subject, const cluster::StudyStatus& status) {
  Json json{{"name", subject.name}, {"jobs", Json::array()}, {"work", Json::array()}, {"processes", Json::array()}};
  if (subject.submission) {
    std::vector<std::string> jobs;
    for (const cluster::SubmittedStep& step : subject.submission->steps) jobs.push_back(step.job);
    const auto states = job_states(jobs);
    for (const cluster::SubmittedStep& step : subject.submission->steps) {
      const auto state = states.find(step.job);
      json["jobs"].push_back(
          {{"step", step.step}, {"job", step.job}, {"state", state == states.end() ? Json() : Json(state->second)}});
    }
  }
  for (const cluster::WorkProgress& work : status.work) {
    Json each{{"spec", work.spec}, {"kernel", work.kernel}, {"problem", report::bindings_json(work.problem)},
              {"arch", work.arch}, {"device", work.device}, {"state", work.state},
              {"done", work.done}, {"total", work.total},   {"best", nullptr}};
    if (work.best_ms) each["best"] = {{"config", report::bindings_json(work.best)}, {"time_ms", *work.best_ms}};
    if (!work.error.empty()) each["error"] = work.error;
    json["work"].push_back(std::move(each));
  }
  for (const cluster::ProcessStatus& each : status.processes) {
    const cluster::ProcessProgress& process = each.progress;
    json["processes"].push_back({{"rank", process.rank},
                                 {"host", process.host},
                                 {"pid", process.pid},
                                 {"job", process.job},
                                 {"restart", process.restart},
                                 {"state", process.state},
                                 {"alive", each.alive},
                                 {"age_s", each.age_s}});
  }
  return json;
}

void print_text(const Json& json, const cluster::StudyStatus& status) {
  print_out("{}\n", base::printable(json["name"].get<std::string>()));
  for (const Json& job : json["jobs"])
    print_out("  {}: job {}{}\n", job["step"].get<std::string>(), job["job"].get<std::string>(),
              job["state"].is_null() ? ", no longer known to Slurm"
                                     : " " + base::printable(job["state"].get<std::string>(), 40));
  std::vector<std::vector<std::string>> rows;
  for (const cluster::WorkProgress& work : status.work)
    rows.push_back({work.arch, work.kernel, space::shown_text(work.problem),
                    fmt::format("{}/{}", work.done, work.total),
                    work.best_ms ? base::human_time_ms(*work.best_ms) : "-", work.state,
                    work.best_ms ? space::shown_text(work.best) : work.error});
  if (!rows.empty())
    print_exactly("{}", report::render_table({"arch", "kernel", "problem", "done", "best", "state", ""}, rows));
  std::size_t alive = 0;
  for (const cluster::ProcessStatus& each : status.processes) alive += each.alive;
  print_out("{} of {} at work\n", alive, counted(status.processes.size(), "process"));
  for (const cluster::ProcessStatus& each : status.processes)
    if (!each.alive && each.progress.state == "running")
      print_out("  dead: rank {} on {} (pid {}), silent for {}\n", each.progress.rank,
                base::printable(each.progress.host), each.progress.pid, base::human_seconds(each.age_s));
}

/// Whether the status may still change.
bool goes_on(const Json& json) {
  const auto ends = [](const std::string& state) {
    for (const char* running : {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "RESIZING"})
      if (state.starts_with(running)) return false;
    return true;
  };
  for (const Json& job : json["jobs"])
    if (!job["state"].is_null() && !ends(job["state"])) return true;
  for (const Json& process : json["processes"])
    if (process["alive"]) return true;
  return false;
}

int status(const StatusOptions& options) {
  const std::filesystem::path store = options.store_path();
  const Subject subject = find_subject(store, options.what);
  system::EventLoop loop;
  const StopSignals signals(loop);
  for (;;) {
    const cluster::StudyStatus found =
        cluster::read_study(store, subject.studies, system::system_clock().unix_time_ms());
    const Json json = status_json(subject, found);
    for (const std::string& warning : found.warnings) tell("warning: {}\n", warning);
    if (options.json())
      print_json(json, options.watch ? -1 : 2);
    else
      print_text(json, found);
    std::fflush(stdout);
    if (!options.watch || !goes_on(json)) return done;
    bool waited = false;
    const system::EventLoop::Watch timer =
        loop.call_after(static_cast<std::uint64_t>(options.every_s * 1e3), [&waited] { waited = true; });
    while (!waited && !signals.asked()) loop.run_once();
    if (signals.asked()) return interrupted;
    if (options.text()) print_out("\n");
  }
}

}  // namespace

void add_status_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<StatusOptions>(app, context, "status", "Show the progress of a batch job",
                                 "xtune status 4711 --store $SCRATCH/xtune --watch", status);
  add_argument(command, "job", options.what, "JOB",
               "What `xtune submit` printed, the number of a job, or XTUNE_STUDY; default: the latest submission, "
               "else the latest study of the store")
      ->required(false);
  const OptionGroup job(command, option_group::job);
  job.flag("--watch", options.watch, "Repeat until all processes have finished");
  job.value("--every", options.every_s, "S", "Repeat after this many seconds")->check(positive_seconds());
  add_format_option(command, options.format, "Print text, or JSON: with --watch, a line each time");
  add_store_option(command, options.store, "Use the store of the job");
}

}  // namespace xtune::cli
