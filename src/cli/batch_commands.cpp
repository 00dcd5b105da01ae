// xtune submit: a suite as batch jobs: compile, measure on each type of GPU, merge. xtune status: their progress, from
// its files and from the batch system.

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <tuple>

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
using cluster::Words;

struct SubmitOptions {
  const CLI::App* command = nullptr;
  CommonOptions common;
  Words paths, components, compile_options, setup;
  std::string scheduler, time, account, queue;
  int nodes = 1, gpus_per_node = 0, cpus_per_task = 0, max_jobs = 20;
  std::optional<double> max_gpu_hours;
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

/// --time, --account and --queue as the batch system wants them, and what stands behind `--`.
Words user_options(const cluster::BatchSystem& system, const SubmitOptions& options) {
  Words words;
  const auto add = [&](const char* name, const std::string& value, const Words& templates) {
    if (value.empty()) return;
    const Words filled = cluster::fill_words(templates, {{name, value}});
    if (filled.empty()) throw bad_argument("--{}: {} has no such option; say it behind --", name, system.name);
    words.insert(words.end(), filled.begin(), filled.end());
  };
  const auto seconds = cluster::parse_duration(options.time);
  if (!options.time.empty() && (!seconds || *seconds <= 0))
    throw bad_argument("--time '{}': write seconds (3600), 1:00:00 or 1-12:00:00", base::printable(options.time, 80));
  add("time", seconds ? cluster::write_duration(*seconds, system.options) : "", system.options.time);
  add("account", options.account, system.options.account);
  add("queue", options.queue, system.options.queue);
  const Words& behind = words_behind_dashes();
  words.insert(words.end(), behind.begin(), behind.end());
  return words;
}

cluster::Submission submission_of(const SubmitOptions& options) {
  cluster::Submission submission;
  submission.name = new_name(options.paths.front());
  submission.store = fs::absolute(options.common.store_path()).lexically_normal();
  submission.folder = cluster::submission_folder(submission.store, submission.name);
  submission.program = system::own_executable();
  for (const std::string& path : options.paths)
    submission.specs.push_back(fs::absolute(path).lexically_normal().string());
  submission.system = &cluster::choose_batch_system("");
  submission.options = user_options(*submission.system, options);
  submission.compile_options = options.compile_options;
  submission.cpus_per_task = options.cpus_per_task;
  submission.setup = options.setup;
  submission.compile_job = options.compile == "job";
  submission.max_jobs = options.max_jobs;
  submission.max_gpu_hours = options.max_gpu_hours;
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

/// What the system cannot do, and what the bounds do not allow.
void check(const cluster::Submission& submission) {
  const cluster::BatchSystem& system = *submission.system;
  if (submission.components.size() > 1 && system.components.argument.empty())
    throw bad_argument(
        "--arch-component: {} has no heterogeneous jobs; submit each type of GPU by itself, with the "
        "same --store",
        system.name);
  const auto needs = [&](const char* option, std::initializer_list<const char*> any_of) {
    if (std::none_of(any_of.begin(), any_of.end(), [&](const char* placeholder) { return system.has(placeholder); }))
      throw bad_argument("{}: {} has no such option; say it behind --", option, system.name);
  };
  if (submission.cpus_per_task > 0) needs("--cpus-per-task", {"cores", "node_cores", "slots"});
  for (const cluster::JobComponent& each : submission.components)
    if (each.nodes > 1) needs("--nodes", {"nodes", "ranks", "slots"});
  for (const cluster::JobComponent& each : submission.components)
    for (const auto& [key, placeholder, value] : {std::tuple("gres", "gres", &each.gres),
                                                  {"constraint", "constraint", &each.constraint},
                                                  {"partition", "queue", &each.partition}})
      if (!value->empty() && !system.has(placeholder))
        throw bad_argument("--arch-component: {} has no {}; say what it has instead behind --", system.name, key);
  if (!submission.max_gpu_hours) return;
  const auto hours = cluster::gpu_hours(submission);
  if (!hours || *hours <= 0)
    throw bad_argument(
        "--max-gpu-hours: say how long a job may run and how many GPUs a node has, as in --time 2:00:00 "
        "--gpus-per-node 4");
  if (*hours > *submission.max_gpu_hours)
    throw bad_argument("--max-gpu-hours {:g}: the first job asks for {:.3g} GPU hours; ask for less time or fewer GPUs",
                       *submission.max_gpu_hours, *hours);
}

/// What the specs' budgets need, in seconds of one GPU. nullopt: a spec has none.
struct Estimate {
  std::optional<double> gpu_seconds = 0;
  bool may_use_gpus = false;
};

double max_configurations(const spec::Spec& spec) {
  double configurations = 1;
  for (const space::Parameter& each : spec.parameters) configurations *= static_cast<double>(each.values.size());
  return configurations;
}

/// Errors in options or a spec must be reported now, not when the job starts.
Estimate check(const SubmitOptions& options, const cluster::Submission& submission) {
  const CLI::App& command = *options.command;
  const cluster::BatchSystem& system = *submission.system;
  for (const char* option : {"--nodes", "--gpus-per-node", "--arch"})
    if (!options.components.empty() && command.count(option) > 0)
      throw bad_argument(
          "{} and --arch-component: say it in each component, "
          "[ARCH:]nodes=2,gpus-per-node=4,...",
          option);
  if (command.count("--device") > 0)
    throw bad_argument("--device: each process of the job has the devices that {} gives it (--gpus-per-node)",
                       system.name);
  cluster::check_options(system, words_behind_dashes(), "behind --");
  cluster::check_options(system, options.compile_options, "--cpu-option");
  const std::pair<const char*, Words> given[] = {{"behind --", words_behind_dashes()},
                                                 {"in --setup", cluster::directive_words(system, options.setup)}};
  for (const auto& [place, words] : given)
    if (const auto cores = cluster::given_option(system.given.cores, words);
        command.count("--cpus-per-task") > 0 && !cores.words.empty())
      throw bad_argument("--cpus-per-task {} and {} {}: write only one of them", options.cpus_per_task,
                         fmt::join(cores.words, " "), place);
  check(submission);
  if (options.common.backend != "replay") device::backends_for(options.common.backend);
  double gpus = 0;
  for (const cluster::JobComponent& each : submission.components) gpus += each.nodes * std::max(each.gpus_per_node, 1);
  Estimate estimate;
  for (const SpecList::Item& item : list_specs(options.paths).items) {
    const spec::Spec spec = read_spec(item.path, options_for(item, options.common), "");
    estimate.may_use_gpus =
        estimate.may_use_gpus || (!spec.replays() && !(spec.process && spec.process->device == "host"));
    constexpr double expected_s = 1;            // of one configuration
    constexpr std::uint64_t usual_evals = 400;  // of a strategy that learns
    const bool all = spec.search.strategy == "exhaustive" && !spec.search.evals && spec.search.effort == "full";
    std::optional<double> case_s;
    if (spec.search.seconds)
      case_s = gpus * *spec.search.seconds;
    else if (!all)
      case_s = expected_s * std::min(static_cast<double>(spec.search.max_evals(usual_evals)), max_configurations(spec));
    if (estimate.gpu_seconds && case_s)
      *estimate.gpu_seconds += *case_s * static_cast<double>(spec.cases.size());
    else
      estimate.gpu_seconds.reset();
  }
  const std::string& backend = options.common.backend;
  if (backend == "host" || backend == "replay" || backend == "kokkos") estimate.may_use_gpus = false;
  return estimate;
}

Json gpu_hours_json(const cluster::Submission& submission, const Estimate& estimate) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  const auto needed = estimate.gpu_seconds;
  return {{"asked_by_each_job", number(cluster::gpu_hours(submission))},
          {"max_jobs", submission.max_jobs},
          {"max", number(submission.max_gpu_hours)},
          {"estimated", number(needed ? std::optional(*needed / 3600) : std::nullopt)},
          {"assumes", "1 s of one GPU for each evaluation, or all GPUs for the seconds of [search]"}};
}

std::string gpu_hours_text(const Json& hours) {
  const auto text = [](const Json& value, const char* otherwise) {
    return value.is_null() ? std::string(otherwise) : fmt::format("{:.3g}", value.get<double>());
  };
  return fmt::format("GPU hours: each of at most {} jobs asks for {}{}; the search needs about {}, which assumes {}",
                     hours["max_jobs"].get<int>(),
                     text(hours["asked_by_each_job"], "an unknown number (no --time or no --gpus-per-node)"),
                     hours["max"].is_null() ? "" : ", together at most " + text(hours["max"], ""),
                     text(hours["estimated"], "an unknown number (no budget)"), hours["assumes"].get<std::string>());
}

int print_scripts(const cluster::Submission& submission, const std::vector<cluster::JobStep>& steps,
                  const SubmitOptions& options, const Estimate& estimate) {
  const cluster::BatchSystem& system = *submission.system;
  Json json{{"name", submission.name}, {"folder", submission.folder.string()}, {"scheduler", system.id}};
  json["gpu_hours"] = gpu_hours_json(submission, estimate);
  json["steps"] = Json::array();
  const Words compile = options.compile == "login" ? cluster::compile_command(submission) : Words();
  if (!options.common.json()) print_exactly("# {}\n\n", gpu_hours_text(json["gpu_hours"]));
  if (!compile.empty()) {
    json["compile_here"] = compile;
    if (!options.common.json()) print_exactly("# here: {}\n\n", base::printable(system::command_line(compile)));
  }
  std::string after;
  for (const cluster::JobStep& step : steps) {
    const fs::path script = submission.folder / (step.name + ".sh");
    const Words command = cluster::submit_command(system, step.arguments, script, after);
    after = "<" + step.name + ">";
    json["steps"].push_back({{"step", step.name}, {system.submit.command.front(), command}, {"script", step.script}});
    const std::string input = system.submit.script_on_stdin ? " < " + system::command_line({script.string()}) : "";
    if (!options.common.json())
      print_exactly("# {}{}\n{}\n", base::printable(system::command_line(command)), input, step.script);
  }
  if (options.common.json()) print_json(json);
  return done;
}

/// Queued steps are kept if a later one is refused: the measurements are worth more than the merge.
std::string queued_text(const cluster::BatchSystem& system, const std::vector<cluster::SubmittedJob>& queued) {
  std::string steps, jobs;
  for (const cluster::SubmittedJob& each : queued) {
    steps += (steps.empty() ? "" : ", ") + each.step + ": job " + each.id;
    jobs += " " + each.id;
  }
  return steps.empty() ? ""
                       : fmt::format("\nalready queued are {}; `{}{}` cancels them", steps,
                                     fmt::join(system.submit.cancel, " "), jobs);
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

/// A job gets no GPU unless it asks for one: by xtune's options, or those of the submit command.
void warn_of_no_gpu(const cluster::Submission& submission) {
  if (std::any_of(submission.components.begin(), submission.components.end(),
                  [&](const auto& each) { return cluster::asks_for_gpus(submission, each); }))
    return;
  tell(
      "warning: the job asks {} for no GPU, so it tunes on the CPU: --gpus-per-node N asks for N on each node, and "
      "--backend host says that the CPU is meant\n",
      submission.system->name);
}

/// The scheduler becomes this process's, and that of the scripts.
SubmitOptions with_scheduler(SubmitOptions options) {
  if (options.scheduler.empty()) options.scheduler = cluster::environment_variable("XTUNE_SCHEDULER").value_or("");
  if (options.scheduler.ends_with(".toml")) options.scheduler = fs::absolute(options.scheduler).lexically_normal();
  if (!options.scheduler.empty()) ::setenv("XTUNE_SCHEDULER", options.scheduler.c_str(), 1);
  return options;
}

int submit(const SubmitOptions& given) {
  const SubmitOptions options = with_scheduler(given);
  const cluster::Submission submission = submission_of(options);
  const cluster::BatchSystem& system = *submission.system;
  const Estimate estimate = check(options, submission);
  if (estimate.may_use_gpus) warn_of_no_gpu(submission);
  warn_of_home(submission.store);
  const std::vector<cluster::JobStep> steps = cluster::job_steps(submission);
  if (options.dry_run) return print_scripts(submission, steps, options, estimate);
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
  cluster::write_submission(submission, steps);
  std::vector<cluster::SubmittedJob> submitted;
  Json json{{"name", submission.name}, {"folder", submission.folder.string()}};
  json["steps"] = Json::array();
  std::string after;
  for (const cluster::JobStep& step : steps) {
    const fs::path script = submission.folder / (step.name + ".sh");
    system::write_file_atomically(script, step.script);
    try {
      after = cluster::submit_step(system, cluster::submit_command(system, step.arguments, script, after), script);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what() + queued_text(system, submitted));
    }
    // After each: if the next one is refused, the queued ones can still be found.
    cluster::note_job(submission.folder, submitted.emplace_back(cluster::SubmittedJob{step.name, 0, after}));
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
      add_command<SubmitOptions>(app, context, "submit", "Tune specs in batch jobs", "", submit);
  command.footer(
      "The jobs compile, measure on each type of GPU, and merge. A measuring job whose time ends submits the next one, "
      "until the search is done. Options of the batch system's submit command follow `--`.\n\nExample:\n"
      "  xtune submit configs/suite.toml --nodes 4 --gpus-per-node 4 --time 2:00:00 --account project");
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
  job.list("--cpu-option", options.compile_options, "OPTION",
           "Pass an option to the submit command for the jobs that need no GPU: --cpu-option=--partition=cpu");
  std::string systems;
  for (const auto& [file, text] : cluster::built_in_systems)
    systems += std::string(file.substr(0, file.find('.'))) + ", ";
  job.value("--scheduler", options.scheduler, "NAME",
            "Name the batch system: " + systems +
                "or a file.toml that describes another one; default: XTUNE_SCHEDULER, else the one whose commands are "
                "on PATH");
  job.value("--time", options.time, "TIME", "Ask for this time for each measuring job: seconds, 1:00:00, 1-12:00:00");
  job.value("--account", options.account, "NAME", "Charge this account");
  job.value("--queue", options.queue, "NAME", "Measure in this queue or partition");
  count("--max-jobs", options.max_jobs, 1,
        "Submit at most N measuring jobs, one after the other, each when the time of "
        "the one before ends");
  job.value("--max-gpu-hours", options.max_gpu_hours, "H",
            "Submit no further job that would ask for more than H hours of GPUs together with those before")
      ->check(positive("hours"));
  command
      .add_option_function<int>("--restarts", [&options = options](int restarts) { options.max_jobs = restarts + 1; })
      ->check(whole_number(0, 1'000'000))
      ->group("");  // earlier name: without the first job
  add_common_options(command, options.common);
  command.get_option("--device")->group("");  // refused with a reason
  OptionGroup(command, option_group::output)
      .flag("--dry-run", options.dry_run, "Print the scripts, and submit nothing");
  add_store_option(command, options.common.store);
}

namespace {

struct ContinueOptions {
  std::string name, step = "measure", store;
  std::size_t attempt = 0;
  bool start = false;
};

/// The job, unless it has ended: some systems delete a job that waits for one that they no longer know.
/// own: a job that runs, which shows that the system answers.
std::string job_to_wait_for(const cluster::BatchSystem& system, const std::string& job, const std::string& own) {
  const auto states = cluster::job_states(system, {job, own});
  const auto state = states.find(job);
  if (state == states.end()) return states.contains(own) ? "" : job;
  return std::string_view(state->second.phase) == "ended" ? "" : job;
}

/// From inside a job of a submission: submits the next one of its step. A merge whose measuring job has been continued
/// waits for the continuation instead. Succeeds if another job goes on with the step; --start only asks whether.
int continue_search(const ContinueOptions& options) {
  // The job's end may come now, for all of its processes: what is submitted should be noted.
  for (const int signum : {SIGTERM, SIGALRM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2}) std::signal(signum, SIG_IGN);
  const fs::path store = options.store.empty() ? system::default_store() : fs::path(options.store);
  const fs::path folder = cluster::submission_folder(store, options.name);
  std::string own;
  if (const auto job = cluster::current_job()) {
    own = cluster::job_in_answer(*job->system, job->id);  // as the submit command prints it, where it prints no more
    if (own.empty()) own = job->id;
    // The submitter may have been killed before it noted this job.
    if (cluster::note_job(folder, {options.step, options.attempt, own}).empty()) {
      tell("xtune: another job goes on instead of this one, which was not noted in time\n");
      return done;
    }
  }
  if (options.start) return own_failure;
  const cluster::Submitted submitted = cluster::read_submission(folder);
  cluster::SubmittedJob next = cluster::following_job(submitted, options.attempt);
  const bool merges = options.step == "merge", follows = !next.id.empty();
  if (!merges && follows) return done;  // a job that was requeued submits no second one
  if (merges && !follows && next.attempt == options.attempt + 1) return own_failure;
  const cluster::BatchSystem& system = cluster::choose_batch_system(submitted.scheduler);
  const auto submit = [&](const std::string& step, const std::string& after) {
    const fs::path script = cluster::write_attempt(submitted, step, next.attempt);
    const Words command = cluster::submit_command(system, submitted.arguments.at(step), script, after);
    const std::string job = cluster::submit_step(system, command, script);
    cluster::note_job(folder, {step, next.attempt, job});
    tell("xtune: job {} continues the search\n", job);
    return job;
  };
  if (!follows) {
    if (const std::string end = cluster::end_of_chain(submitted); !end.empty()) {
      tell("xtune: no job continues the search: {}\n", base::printable(end));
      return own_failure;
    }
    next.id = submit("measure", merges ? "" : own);
  }
  // The merge may have been queued for longer than the continuation ran.
  if (merges) submit("merge", job_to_wait_for(system, next.id, own));
  return done;
}

}  // namespace

void add_continue_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<ContinueOptions>(
      app, context, "continue", "Submit the next job of a submission, from inside the one before: internal", "",
      continue_search);
  command.group("");
  add_argument(command, "submission", options.name, "NAME", "Name the submission");
  command.add_option("--step", options.step, "Name the step");
  command.add_option("--attempt", options.attempt, "Number the job, from 0");
  command.add_option("--store", options.store, "Use this store");
  command.add_flag("--start", options.start, "Only ask whether another job goes on instead of this one");
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

Subject subject_of(cluster::Submitted submission, const Words& studies) {
  Subject subject{submission.name, std::nullopt, {}};
  // Of each attempt, also where the batch system started its job again.
  for (const std::string& study : studies)
    if (study.starts_with(submission.name + ".r")) subject.studies.push_back(study);
  subject.submission = std::move(submission);
  return subject;
}

/// Whether it is the study of a step or attempt of a job whose number is given.
bool is_of_job(const std::string& study, const std::string& job) {
  return std::any_of(cluster::batch_systems().begin(), cluster::batch_systems().end(), [&](const auto& system) {
    const std::string of_job = system.rank.study.substr(0, system.rank.study.find('{')) + job;
    return !job.empty() && (study == of_job || study.starts_with(of_job + "."));
  });
}

Subject find_subject(const std::filesystem::path& store, const std::string& what) {
  const std::vector<cluster::Submitted> submissions = cluster::read_submissions(store);
  const std::vector<std::string> studies = cluster::studies_in(store);
  for (auto each = submissions.rbegin(); each != submissions.rend(); ++each)
    if ((what.empty() && !each->jobs.empty()) || each->name == what ||
        std::any_of(each->jobs.begin(), each->jobs.end(), [&](const auto& job) { return job.id == what; }))
      return subject_of(*each, studies);
  for (auto study = studies.rbegin(); study != studies.rend(); ++study) {
    const bool of_job = is_of_job(*study, what);
    if (what.empty() || cluster::is_run_of(*study, what) || of_job) {
      Subject subject{*study, std::nullopt, {*study}};
      if (of_job) {
        subject.name = "job " + what;
        subject.studies.clear();
        for (const std::string& other : studies)
          if (is_of_job(other, what)) subject.studies.push_back(other);
      }
      return subject;
    }
  }
  std::vector<std::string> names = studies;
  for (const cluster::Submitted& each : submissions) names.push_back(each.name);
  const std::string where = base::printable(store.string());
  throw Error(ErrorKind::invalid_argument,
              what.empty() ? fmt::format("{} has no jobs to show: `xtune submit` makes one, and so do processes that "
                                         "a launcher such as mpirun starts (--store names another store)",
                                         where)
                           : fmt::format("{} has no job, submission or study '{}'{} (--store names another store)",
                                         where, base::printable(what, 80), base::did_you_mean(what, names)));
}

Json status_json(const Subject& subject, const cluster::StudyStatus& status) {
  Json json{{"name", subject.name}, {"jobs", Json::array()}, {"work", Json::array()}, {"processes", Json::array()}};
  if (subject.submission) {
    const cluster::Submitted& submission = *subject.submission;
    Words jobs;
    for (const cluster::SubmittedJob& job : submission.jobs) jobs.push_back(job.id);
    std::map<std::string, cluster::JobState> states;
    try {
      states = cluster::job_states(cluster::choose_batch_system(submission.scheduler), jobs);
    } catch (const Error& error) {  // a site's file that is gone: the rest is known from the store
      tell("warning: {}\n", error.what());
    }
    for (const cluster::SubmittedJob& job : submission.jobs) {
      const auto state = states.find(job.id);
      const bool known = state != states.end();
      json["jobs"].push_back({{"step", job.name()},
                              {"job", job.id},
                              {"state", known ? Json(state->second.text) : Json()},
                              {"phase", known ? Json(state->second.phase) : Json()}});
    }
    const std::string end = cluster::end_of_chain(submission);
    json["chain"] = {{"stop", (submission.folder / "stop").string()}, {"end", end.empty() ? Json() : Json(end)}};
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
              job["state"].is_null() ? ", no longer known"
                                     : fmt::format(" {} ({})", job["phase"].get<std::string>(),
                                                   base::printable(job["state"].get<std::string>(), 40)));
  if (json.contains("chain"))
    print_out("  {}\n", json["chain"]["end"].is_null()
                            ? "another job follows if its time ends before the search, unless there is a file " +
                                  base::printable(json["chain"]["stop"].get<std::string>())
                            : "no further job follows: " + base::printable(json["chain"]["end"].get<std::string>()));
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
  for (const Json& job : json["jobs"])
    if (!job["phase"].is_null() && job["phase"] != "ended") return true;
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
  job.value("--every", options.every_s, "S", "Repeat after this many seconds")->check(positive("seconds"));
  add_format_option(command, options.format, "Print text, or JSON: with --watch, a line each time");
  add_store_option(command, options.store, "Use the store of the job");
}

}  // namespace xtune::cli
