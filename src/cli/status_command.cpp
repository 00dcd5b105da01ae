// xtune status: the progress of a job, from its files and from Slurm.

#include <map>
#include <sstream>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cluster/join_study.hpp"
#include "cluster/study_status.hpp"
#include "cluster/submission.hpp"
#include "cluster/walltime.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
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
  std::string list;
  for (const std::string& job : jobs) list += (list.empty() ? "" : ",") + job;
  if (list.empty()) return states;
  const auto read = [&](const std::string& lines) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const std::size_t bar = line.find('|');
      if (bar == std::string::npos) continue;
      // "17+0" for a heterogeneous job; "17_1", "17_[2-4]" for an array.
      const std::string job = line.substr(0, line.find_first_of("+_|"));
      states.try_emplace(job, line.substr(bar + 1));
    }
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
    print_out("{}", report::render_table({"arch", "kernel", "problem", "done", "best", "state", ""}, rows));
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
  base::EventLoop loop;
  const StopSignals signals(loop);
  for (;;) {
    const cluster::StudyStatus found = cluster::read_study(store, subject.studies, base::system_clock().unix_time_ms());
    const Json json = status_json(subject, found);
    for (const std::string& warning : found.warnings) tell("warning: {}\n", warning);
    if (options.json())
      print_json(json, options.watch ? -1 : 2);
    else
      print_text(json, found);
    std::fflush(stdout);
    if (!options.watch || !goes_on(json)) return done;
    bool waited = false;
    const base::EventLoop::Watch timer =
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
