// xtune run for one spec or several: their common state, their order, and the answer.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "cli/report_file.hpp"
#include "cli/run_command.hpp"
#include "cli/spec_list.hpp"
#include "cluster/shared_study.hpp"

namespace xtune::cli {

using Answers = std::vector<std::vector<nlohmann::ordered_json>>;

namespace {

/// Slurm ends all processes of the job at once; they keep their measurements as after any SIGTERM. One process requests
/// it.
void requeue(const RunSession& session) {
  const auto job = cluster::environment_variable("SLURM_JOB_ID");
  if (!session.tells) return;
  if (!job)
    return tell("warning: --requeue: this is not a Slurm job (SLURM_JOB_ID is not set); start it again by hand\n");
  base::CommandOptions options;
  options.timeout_ms = 60'000;
  std::string why;
  try {
    const base::CommandResult result = base::run_command({"scontrol", "requeue", *job}, options);
    if (!result.ok())
      why = base::describe_exit(result.exit_code, result.signal) + ": " + base::printable(result.stderr_text, 300);
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty()) tell("warning: scontrol requeue {}: {}; start the job again by hand\n", *job, why);
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

/// Prints the answers of all specs as JSON: for several specs one of the processes with the same architectures prints;
/// for one spec the process that prints its answer.
class JsonPrinter {
 public:
  void add(RunCommand& run) {
    shares_ = shares_ || run.shares();
    if (run.answer()) answer_ = run.answer();
    archs_.push_back(run.arch());
  }
  /// Calls `print` if this process must print.
  void print(const RunOptions& options, RunSession& session, bool several, const std::function<void()>& print_all) {
    if (several && shares_) claim(options, session);
    if (answer_ && !answer_->is_left_to_this(session)) return;
    print_all();
    if (std::fflush(stdout) == 0 && answer_) answer_->printed();
  }

 private:
  void claim(const RunOptions& options, RunSession& session) {
    std::sort(archs_.begin(), archs_.end());
    std::string name = "answers";
    for (const std::string& arch : archs_) name += "\n" + arch;
    for (const std::string& path : options.paths) name += "\n" + path;
    answer_.emplace(
        session.claims_on_answers(cluster::study_folder(options.common.store_path(), session.rank->study) / "answers"),
        name);
  }

  bool shares_ = false;
  std::optional<SharedAnswer> answer_;
  std::vector<std::string> archs_;
};

/// The outputs of other processes, one spec each; if they are gone this process prints them.
struct TextPrinter {
  struct Unsaid {
    SharedAnswer answer;
    std::string text;
  };
  void add(RunCommand& run) {
    if (!run.answer()) return;
    if (run.answer()->own() && std::fflush(stdout) == 0)
      run.answer()->printed();
    else
      unsaid.push_back({*run.answer(), run.unsaid()});
  }
  void print_what_is_left(RunSession& session) {
    for (Unsaid& each : unsaid) {
      if (!each.answer.is_left_to_this(session)) continue;
      print_out("{}", each.text);
      if (std::fflush(stdout) == 0) each.answer.printed();
    }
  }
  std::vector<Unsaid> unsaid;
};

/// One of several processes of a job writes the report.
void write_report(const RunOptions& options, const RunSession& session, const std::vector<report::ReportCase>& cases) {
  if (options.report.empty() || !session.tells) return;
  const ReportFile file = write_report_file(options.report, cases, command_words());
  if (!options.quiet) tell("{}\n", report_line(options.report, cases.size(), file));
}

}  // namespace

int run_specs(const RunOptions& options) {
  SpecList list = list_specs(options.paths);
  read_all(list, options.common);
  RunSession session(options);
  Answers answers;
  JsonPrinter json_printer;
  TextPrinter text_printer;
  std::vector<report::ReportCase> reported;
  const auto run_one = [&](const SpecList::Item& item, std::vector<nlohmann::ordered_json>& own) {
    RunOptions one = options;
    one.path = item.path;
    one.common = options_for(item, options.common);
    RunCommand run(one, session);
    const int code = run.go();
    options.common.text() ? text_printer.add(run) : json_printer.add(run);
    own = run.results();
    run.reported().append_to(reported);
    return code;
  };
  const int code =
      for_each_spec(list, begin_elsewhere(list, session), answers, run_one, [&] { return session.ends(); });
  write_report(options, session, reported);
  if (!options.common.text())
    json_printer.print(options, session, list.several, [&] {
      if (options.dry_run && !list.several)
        print_json(nlohmann::ordered_json(answers.front()));
      else
        print_answers(list, answers, options.common.csv());
    });
  else
    text_printer.print_what_is_left(session);
  if (session.progress) session.progress->end(session.ends() ? "interrupted" : code == done ? "done" : "failed");
  if (!session.ends()) return code;
  tell("xtune: {}; {}\n", session.drain ? "stopped before the end of the job's time" : "interrupted",
       session.kept ? "what was measured is kept, and the next run goes on from there"
                    : "a replay keeps nothing without --store, and no measurement is kept with XTUNE_DISABLE_CACHE");
  if (options.requeue && session.again && session.kept) requeue(session);
  return interrupted;
}

}  // namespace xtune::cli
