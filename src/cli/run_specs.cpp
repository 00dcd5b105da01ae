// xtune run of one spec or several: what they share, in which order they are run, and the answer.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "cli/run_command.hpp"
#include "cli/spec_list.hpp"
#include "core/run/attempt.hpp"
#include "core/study/shared_study.hpp"

namespace xtune::cli {

using Answers = std::vector<std::vector<nlohmann::ordered_json>>;

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

/// Each process begins at another spec, and where there are more processes than specs at another case of it.
std::vector<std::size_t> begin_elsewhere(const SpecList& list, RunSession& session) {
  std::vector<std::size_t> order = in_order(list);
  if (!session.rank || order.empty()) return order;
  const auto rank = static_cast<std::size_t>(session.rank->rank);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rank % order.size()), order.end());
  session.first_case = rank / order.size();
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
  SpecList list = list_specs(options.paths);
  read_all(list, options.common);
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
  const int code =
      for_each_spec(list, begin_elsewhere(list, session), answers, run_one, [&] { return session.ends(); });
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
