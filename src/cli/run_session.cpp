// xtune run for one spec or several: their common state (signals, the end of the job's time, the progress for `xtune
// status`), their order, and the answer.
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "base/text.hpp"
#include "cli/run_command.hpp"
#include "cluster/shared_study.hpp"
#include "core/store/record.hpp"
#include "system/processes.hpp"
#include "system/shell_words.hpp"
#include "system/subprocess.hpp"

namespace xtune::cli {

namespace {

constexpr std::uint64_t look_every_ms = 250;

std::int64_t now_ns() { return system::system_clock().now_ns(); }
double left_s(const RunSession& session) {
  return session.end_ns ? static_cast<double>(*session.end_ns - now_ns()) * 1e-9 : HUGE_VAL;
}

void set_limit(RunSession& session, const cluster::Walltime& walltime) {
  constexpr double century_s = 100 * 365.25 * 86400;  // three times this many nanoseconds fit in 64 bits
  const double remaining_s = std::clamp(walltime.remaining_s, -century_s, century_s);
  session.end_ns = now_ns() + static_cast<std::int64_t>(remaining_s * 1e9);
  session.rule->limit(remaining_s);
  constexpr double month_s = 30 * 86400;  // the default of jobs without a limit is not worth a message
  if (session.tells && remaining_s < month_s)
    tell("{} left in the job ({}); the run will stop in time\n", base::human_seconds(std::max(0.0, remaining_s)),
         walltime.source);
}

/// A process that is not the first one reads the job's end, or asks after its patience.
void listen(RunSession& session) {
  std::optional<cluster::JobEnd::Heard> heard;
  if (session.job_end) heard = session.job_end->heard(system::system_clock().unix_time_ms());
  if (!heard && now_ns() >= session.ask_ns) {
    heard.emplace(cluster::JobEnd::Heard{cluster::find_walltime("auto", system::system_clock().unix_time_ms())});
    if (session.job_end) session.job_end->tell(heard->walltime, system::system_clock().unix_time_ms());
  }
  if (!heard) return;
  session.listens = false;
  if (heard->walltime) set_limit(session, *heard->walltime);
}

/// Called repeatedly, since new measurements change when the search must stop.
void look_at_clock(RunSession& session) {
  if (session.listens) listen(session);
  const cluster::StopRule::Step step = session.rule->at(left_s(session));
  if (step != cluster::StopRule::Step::go_on && !session.drain) {
    session.drain = session.again = true;
    if (session.tells)
      tell("{} of the job's time are left, of which {} are reserved for work in progress: no new work begins\n",
           base::human_seconds(std::max(0.0, left_s(session))), base::human_seconds(session.rule->reserve_s()));
  }
  if (step == cluster::StopRule::Step::stop) session.stop = true;
  session.look = session.loop.call_after(look_every_ms, [&session] { look_at_clock(session); });
}

void beat_later(RunSession& session) {
  session.beat = session.loop.call_after(cluster::ProgressFile::every_ms, [&session] {
    session.progress->write();
    beat_later(session);
  });
}

constexpr std::uint64_t beat_speakers_every_ms = 3000;
constexpr const char* printed_mark = "\nprinted";

void beat_speakers_later(RunSession& session) {
  session.speakers_beat = session.loop.call_after(beat_speakers_every_ms, [&session] {
    for (const auto& claims : session.speakers) claims->beat();
    beat_speakers_later(session);
  });
}

}  // namespace

cluster::Claims& RunSession::claims_on_answers(const std::filesystem::path& folder) {
  // Long, because it may be busy with a large space; after that two print.
  constexpr double lease_s = 60, look_s = 0.1;
  speakers.push_back(std::make_unique<cluster::Claims>(folder, store::new_attempt(), system::system_clock(),
                                                       cluster::Claims::Options{lease_s, look_s, 0}));
  if (speakers.size() == 1) beat_speakers_later(*this);
  return *speakers.back();
}

bool SharedAnswer::is_left_to_this(RunSession& session) {
  // For a process that is gone, the second check reports it: between the two its results are read.
  constexpr int min_polls = 2;
  constexpr std::uint64_t look_again_ms = 100;
  for (int looks = 0; !own_; ++looks) {
    if (claims_->is_taken(name_ + printed_mark)) return false;
    try {
      claims_->about_to_read();
      own_ = claims_->take(name_);
    } catch (const Error&) {  // the store is gone, so it is unknown and each process prints
      own_ = true;
    }
    if (own_) break;
    if (session.ends() && looks >= min_polls) return false;
    const auto wake = session.loop.call_after(look_again_ms, [] {});
    session.loop.run_once();
  }
  return true;
}

void SharedAnswer::printed() try {
  claims_->take(name_ + printed_mark);
} catch (const Error&) {  // another process may then print it too
}

RunSession::RunSession(const RunOptions& options) : rank(cluster::find_rank()), tells(!rank || rank->rank == 0) {
  for (const int signum : {SIGINT, SIGTERM, SIGHUP}) signals.push_back(loop.on_signal(signum, [this] { stop = true; }));
  // Signals with which batch systems announce the end of a job.
  for (const int signum : {SIGUSR1, SIGUSR2})
    signals.push_back(loop.on_signal(signum, [this] { stop = again = true; }));
  if (options.dry_run) return;
  one_asks = rank && cluster::only_a_command_knows(options.walltime);
  listens = one_asks && rank->rank > 0;
  std::optional<cluster::Walltime> walltime;
  if (listens)
    ask_ns = now_ns() + static_cast<std::int64_t>(cluster::JobEnd::patience_s(rank->rank) * 1e9);
  else
    walltime = cluster::find_walltime(options.walltime, system::system_clock().unix_time_ms());
  if (!walltime && !listens) return;
  rule.emplace(HUGE_VAL);
  if (walltime) set_limit(*this, *walltime);
  look_at_clock(*this);
}

void RunSession::join_study(const std::filesystem::path& store) {
  if (!rank || std::exchange(seated, true)) return;
  // Components of a heterogeneous job are separate steps, each with ranks from zero.
  const auto component = cluster::environment_variable("XTUNE_COMPONENT");
  rank->study = xtune::cluster::join_study(
      store, rank->study, fmt::format("{}{}-of-{}", component ? *component + "." : "", rank->rank, rank->size));
}

void RunSession::keep_progress(const std::filesystem::path& store) {
  const auto named = cluster::environment_variable("XTUNE_STUDY");
  if (!rank && (!named || *named == "off")) return;
  if (one_asks) {
    job_end.emplace(store, rank->study);
    if (!listens)
      job_end->tell(end_ns ? std::optional(cluster::Walltime{left_s(*this), ""}) : std::nullopt,
                    system::system_clock().unix_time_ms());
  }
  cluster::ProcessProgress process;
  process.host = system::host_name();
  process.pid = getpid();
  process.pid_scope = system::pid_scope();
  process.attempt = store::new_attempt();
  if (const auto job = cluster::current_job()) {
    process.job = job->id;
    process.restart = std::atoi(job->restart.c_str());
  }
  if (rank) {
    process.rank = rank->rank;
    process.size = rank->size;
  }
  progress.emplace(store, rank ? rank->study : *named, std::move(process), system::system_clock());
  beat_later(*this);
}

namespace {

/// The batch system ends all processes of the job at once; they keep their measurements as after any SIGTERM. One
/// process requests it.
void requeue(const RunSession& session) {
  if (!session.tells) return;
  const auto job = cluster::current_job();
  const cluster::BatchSystem& system = job ? *job->system : cluster::choose_batch_system("");
  if (!job)
    return tell("warning: --requeue: this is not a {} job ({} is not set); start it again by hand\n", system.name,
                system.job.id);
  const cluster::Words command = cluster::fill_words(system.submit.requeue, {{"job", job->id}});
  if (command.empty()) return tell("warning: --requeue: {} cannot; start the job again by hand\n", system.name);
  system::CommandOptions options;
  options.timeout_ms = 60'000;
  std::string why;
  try {
    const system::CommandResult result = system::run_command(command, options);
    if (!result.ok())
      why = system::describe_exit(result.exit_code, result.signal) + ": " + base::printable(result.stderr_text, 300);
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty())
    tell("warning: {}: {}; start the job again by hand\n", base::printable(system::command_line(command), 300), why);
}

/// Each process begins at another spec, or at another case of one if there are more processes than specs.
std::vector<std::size_t> begin_elsewhere(const SpecList& list, RunSession& session) {
  std::vector<std::size_t> order = in_order(list);
  if (!session.rank || order.empty()) return order;
  const auto rank = static_cast<std::size_t>(session.rank->rank);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rank % order.size()), order.end());
  session.first_case = rank / order.size();
  return order;
}

/// Calls `print` unless another process prints the answer. Unset: no other process has it.
void print_shared(RunSession& session, std::optional<SharedAnswer>& answer, const std::function<void()>& print) {
  if (answer && !answer->is_left_to_this(session)) return;
  print();
  if (std::fflush(stdout) == 0 && answer) answer->printed();
}

/// The answers of the specs that were run: as text one for each, as JSON or CSV one for all. For several specs, one of
/// the processes with the same architectures prints that; for one spec the process that prints its answer.
struct Outputs {
  struct Unsaid {
    std::optional<SharedAnswer> answer;
    std::string text;
  };
  void add(RunCommand& run, bool text) {
    shares = shares || run.shares();
    archs.push_back(run.arch());
    if (!run.answer()) return;
    if (text && run.answer()->own() && std::fflush(stdout) == 0)
      run.answer()->printed();
    else
      unsaid.push_back({run.answer(), run.unsaid()});
  }
  std::optional<SharedAnswer> answer_for_all(const RunOptions& options, RunSession& session, bool several) {
    if (!several || !shares) return unsaid.empty() ? std::nullopt : unsaid.back().answer;
    std::sort(archs.begin(), archs.end());
    std::string name = "answers";
    for (const std::string& arch : archs) name += "\n" + arch;
    for (const std::string& path : options.paths) name += "\n" + path;
    const auto study = cluster::study_folder(options.common.store_path(), session.rank->study);
    return SharedAnswer(session.claims_on_answers(study / "answers"), name);
  }

  bool shares = false;
  std::vector<std::string> archs;
  std::vector<Unsaid> unsaid;
};

/// One of several processes of a job writes the report.
void write_report(const RunOptions& options, const RunSession& session, const std::vector<report::ReportCase>& cases) {
  if (options.report.empty() || !session.tells) return;
  const Json file = write_report_file(options.report, report_data(cases, command_words()));
  if (!options.quiet) tell("{}\n", report_line(file));
}

}  // namespace

int run_specs(const RunOptions& options) {
  SpecList list;
  if (options.common.direct)
    list.items.push_back({options.paths.front(), std::nullopt, std::nullopt});
  else
    list = list_specs(options.paths);
  read_all(list, options.common);
  RunSession session(options);
  if (!options.live.empty() && session.tells && !options.dry_run) {
    session.live.emplace(session.loop, options.live == "auto" ? 0 : std::stoi(options.live));
    tell("report: {}\n", session.live->address());
  }
  Answers answers;
  Outputs outputs;
  std::vector<report::ReportCase> reported;
  const auto run_one = [&](const SpecList::Item& item, std::vector<Json>& own) {
    RunOptions one = options;
    one.path = item.path;
    one.common = options_for(item, options.common);
    RunCommand run(one, session);
    const int code = run.go();
    outputs.add(run, options.common.text());
    own = run.results();
    for (const auto& [number, one_case] : run.reported()) reported.push_back(one_case);
    return code;
  };
  const int code =
      for_each_spec(list, begin_elsewhere(list, session), answers, run_one, [&] { return session.ends(); });
  write_report(options, session, reported);
  if (session.live && !session.ends()) session.live->finish();
  if (options.common.text()) {
    for (Outputs::Unsaid& each : outputs.unsaid)
      print_shared(session, each.answer, [&] { print_out("{}", each.text); });
  } else {
    auto answer = outputs.answer_for_all(options, session, list.several);
    print_shared(session, answer, [&] {
      if (options.dry_run && !list.several)
        print_json(Json(answers.front()));
      else
        print_answers(list, answers, options.common.csv());
    });
  }
  if (session.progress) session.progress->end(session.ends() ? "interrupted" : code == done ? "done" : "failed");
  if (!session.ends()) return code;
  tell("xtune: {}; {}\n", session.drain ? "stopped before the end of the job's time" : "interrupted",
       session.kept ? "what was measured is kept, and the next run goes on from there"
                    : "a replay keeps nothing without --store, and no measurement is kept with XTUNE_DISABLE_CACHE");
  if (options.requeue && session.again && session.kept) requeue(session);
  return interrupted;
}

}  // namespace xtune::cli
