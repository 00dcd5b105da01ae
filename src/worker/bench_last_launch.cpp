// The launch after all that were measured, judged as the first one was: a kernel may be right once and then never
// again, and what was measured are the other launches.
#include <algorithm>

#include "ipc/expected_files.hpp"
#include "worker/bench_session.hpp"

namespace xtune::worker {
namespace {

void say_when(ipc::BenchAnswer& answer, bool sanitized) {
  answer.message +=
      sanitized ? "; the first launch was right, and one in which the threads of a block change at random stores was "
                  "not: do two of them write to one place without an atomic function or a barrier, or does the kernel "
                  "rely on what only the first launch finds?"
                : "; the first launch was right, and one after the measured launches was not: does the kernel rely on "
                  "what only the first launch finds, such as a counter that no launch resets, or on what its outputs "
                  "hold before the launch?";
}

}  // namespace

void BenchSession::poison_outputs(BufferSet& set, validate::Poison poison) {
  device_check_ ? device_check_->poison_outputs(set, poison) : xtune::worker::poison_outputs(arguments_, set, poison);
}

/// The sets' outputs hold `poison` and the opposite one in turn.
bool BenchSession::judge_launch_of_all_sets(Sampler& sampler, int launches, validate::Poison poison,
                                            ipc::BenchAnswer& answer) {
  for (BufferSet& set : sets_) {
    poison_outputs(set, poison);
    poison = poison == validate::Poison::high ? validate::Poison::low : validate::Poison::high;
  }
  sampler.run_on(std::max(launches, static_cast<int>(sets_.size())));
  for (BufferSet& set : sets_)
    if (!judge_outputs(set, answer)) return false;
  return true;
}

/// Launched one behind the other as in a sample, then once. A kernel that is right every second time is caught: with
/// one set the judged launches follow each other, with several sets all of them are judged.
bool BenchSession::judge_last_launch(measure::Program& program, Sampler& sampler, ipc::BenchAnswer& answer) {
  if (program.times_itself()) {
    program.check_last_run();
    return true;
  }
  const bool right = judge_launch_of_all_sets(sampler, sampler.launches(), validate::Poison::high, answer) &&
                     (sets_.size() > 1 || judge_launch_of_all_sets(sampler, 1, validate::Poison::low, answer));
  if (right) {
    leave_outputs("last");
    return true;
  }
  answer.stage = "validate";
  // An input that a measured launch changed is the cause of wrong outputs, not their consequence.
  ipc::BenchAnswer inputs;
  if (judge_inputs(inputs)) {
    say_when(answer, job_.sanitize);
  } else {
    answer.stage = "measure";
    answer.message = inputs.message;
  }
  return false;
}

bool BenchSession::judge_guards(ipc::BenchAnswer& answer) {
  for (BufferSet& set : sets_)
    if (!check_guards(arguments_, set, answer)) return false;
  return true;
}

/// Guards and inputs first: what one of them overwrote makes the others' outputs wrong, and nobody knows which one it
/// was. Then each of them by itself.
void BenchSession::judge_rounds(const std::vector<Contender*>& contenders, std::size_t& at, ipc::RoundsAnswer& answer) {
  ipc::BenchAnswer verdict;
  if (!judge_guards(verdict) || !judge_inputs(verdict)) {
    // Of what is overwritten all of them may have read: the times of none count.
    for (std::vector<double>& samples : answer.samples_ms) samples.clear();
    for (ipc::Reported& reported : answer.reported) reported.clear();
    if (contenders.size() == 1) answer.failed = 0;
  }
  for (at = 0; verdict.outcome == Outcome::ok && at < contenders.size(); ++at) {
    if (contenders[at]->program->times_itself()) continue;  // judged after its last run
    Sampler& sampler = contenders[at]->sampler;
    if (judge_launch_of_all_sets(sampler, sampler.launches(), validate::Poison::high, verdict)) {
      leave_outputs(ipc::launch_of_round(at));
      continue;
    }
    say_when(verdict, job_.sanitize);
    answer.failed = at;
  }
  answer.outcome = verdict.outcome;
  answer.message = verdict.message;
}

}  // namespace xtune::worker
