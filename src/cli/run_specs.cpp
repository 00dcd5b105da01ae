// xtune run of one spec or several: what they share, in which order they are run, and the answer.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/host_name.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "cli/run_command.hpp"
#include "cli/spec_list.hpp"
#include "core/run/attempt.hpp"
#include "core/study/shared_study.hpp"

namespace xtune::cli {

using Answers = std::vector<std::vector<nlohmann::ordered_json>>;

namespace {

constexpr std::uint64_t look_every_ms = 250;

double left_s(const RunSession& session) {
  return static_cast<double>(session.end_ns - system_clock().now_ns()) * 1e-9;
}

/// Asks again and again: what has been measured meanwhile moves the end of the search.
void look_at_clock(RunSession& session) {
  const StopRule::Step step = session.rule->at(left_s(session));
  if (step != StopRule::Step::go_on && !session.drain) {
    session.drain = session.again = true;
    if (session.tells)
      tell("{} of the job's time are left, of which {} are for what is under way: nothing new is begun\n",
           human_seconds(std::max(0.0, left_s(session))), human_seconds(session.rule->reserve_s()));
  }
  if (step == StopRule::Step::stop) session.stop = true;
  session.look = session.loop.call_after(look_every_ms, [&session] { look_at_clock(session); });
}

void beat_later(RunSession& session) {
  session.beat = session.loop.call_after(ProgressFile::every_ms, [&session] {
    session.progress->write();
    beat_later(session);
  });
}

}  // namespace

RunSession::RunSession(const RunOptions& options) : rank(find_rank()), tells(!rank || rank->rank == 0) {
  for (const int signum : {SIGINT, SIGTERM, SIGHUP}) signals.push_back(loop.on_signal(signum, [this] { stop = true; }));
  // How batch systems announce the end of the time that a job has (sbatch --signal).
  signals.push_back(loop.on_signal(SIGUSR1, [this] { stop = again = true; }));
  if (options.dry_run) return;
  const auto walltime = find_walltime(options.walltime, system_clock().unix_time_ms());
  if (!walltime) return;
  rule.emplace(walltime->remaining_s);
  end_ns = system_clock().now_ns() + static_cast<std::int64_t>(walltime->remaining_s * 1e9);
  constexpr double month_s = 30 * 86400;  // what jobs without a limit have is no news
  if (tells && walltime->remaining_s < month_s)
    tell("{} left ({}): the run stops by itself before\n", human_seconds(std::max(0.0, walltime->remaining_s)),
         walltime->source);
  look_at_clock(*this);
}

void RunSession::keep_progress(const std::filesystem::path& store) {
  const auto named = environment_variable("XTUNE_STUDY");
  if (!rank && (!named || *named == "off")) return;
  ProcessProgress process;
  process.host = host_name();
  process.pid = getpid();
  process.attempt = new_attempt();
  process.job = environment_variable("SLURM_JOB_ID").value_or("");
  process.restart = std::atoi(environment_variable("SLURM_RESTART_COUNT").value_or("0").c_str());
  if (rank) {
    process.rank = rank->rank;
    process.size = rank->size;
  }
  progress.emplace(store, rank ? rank->study : *named, std::move(process), system_clock());
  beat_later(*this);
}

namespace {

/// Slurm ends all processes of the job at once: they keep what they have measured as at any SIGTERM. One asks.
void requeue(const RunSession& session) {
  const auto job = environment_variable("SLURM_JOB_ID");
  if (!session.tells) return;
  if (!job) return tell("warning: --requeue: this is no Slurm job (SLURM_JOB_ID is not set); start it again by hand\n");
  CommandOptions options;
  options.timeout_ms = 60'000;
  std::string why;
  try {
    const CommandResult result = run_command({"scontrol", "requeue", *job}, options);
    if (!result.ok()) why = describe_exit(result.exit_code, result.signal) + ": " + printable(result.stderr_text, 300);
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty()) tell("warning: scontrol requeue {}: {}; start the job again by hand\n", *job, why);
}

/// Each process begins at another spec, as with cases (RunCommand::case_order).
std::vector<std::size_t> order_of(const SpecList& list, const RunSession& session) {
  std::vector<std::size_t> order = in_order(list);
  if (session.rank && !order.empty())
    std::rotate(
        order.begin(),
        order.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(session.rank->rank) % order.size()),
        order.end());
  return order;
}

/// One process of those that saw the same architectures prints the answers of several specs: the first that has them.
class Printer {
 public:
  void add(const RunCommand& run) {
    shares_ = shares_ || run.shares();
    speaks_ = speaks_ && run.speaks();
    archs_.push_back(run.arch());
  }
  bool prints(const RunOptions& options, RunSession& session, bool several) {
    if (!several || !shares_) return speaks_;
    std::sort(archs_.begin(), archs_.end());
    std::string name = "answers";
    for (const std::string& arch : archs_) name += "\n" + arch;
    for (const std::string& path : options.paths) name += "\n" + path;
    session.speakers.push_back(
        std::make_unique<Claims>(study_folder(options.common.store_path(), session.rank->study) / "answers",
                                 new_attempt(), system_clock(), Claims::Options{HUGE_VAL, 1}));
    return session.speakers.back()->take(name);
  }

 private:
  bool shares_ = false, speaks_ = true;
  std::vector<std::string> archs_;
};

}  // namespace

int run_specs(const RunOptions& options) {
  const SpecList list = list_specs(options.paths);
  RunSession session(options);
  Answers answers;
  Printer printer;
  const auto run_one = [&](const SpecList::Item& item, std::vector<nlohmann::ordered_json>& own) {
    RunOptions one = options;
    one.path = item.path;
    one.common = options_for(item, options.common);
    RunCommand run(one, session);
    const int code = run.go();
    printer.add(run);
    own = run.results();
    return code;
  };
  const int code = for_each_spec(list, order_of(list, session), answers, run_one, [&] { return session.ends(); });
  if (options.common.json() && printer.prints(options, session, list.several)) {
    if (options.dry_run && !list.several)
      print_json(nlohmann::ordered_json(answers.front()));
    else
      print_answers(list, answers);
  }
  if (session.progress) session.progress->end(session.ends() ? "interrupted" : code == done ? "done" : "failed");
  if (!session.ends()) return code;
  tell("xtune: {}; {}\n", session.drain ? "stopped before the end of the job's time" : "interrupted",
       session.kept ? "what was measured is kept, and the next run goes on from there"
                    : "a replay keeps nothing without --store, and nothing is kept with XTUNE_DISABLE_CACHE");
  if (options.requeue && session.again && session.kept) requeue(session);
  return interrupted;
}

}  // namespace xtune::cli
