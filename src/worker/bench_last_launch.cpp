// The launch after all measured ones, checked like the first one: a kernel may be right only in its first launch, but
// the measured launches are the others.
#include <algorithm>

#include "ipc/expected_files.hpp"
#include "worker/bench_session.hpp"

namespace xtune::worker {
namespace {

constexpr const char* late_words =
    "; the first launch was right, and one after the measured launches was not: does the kernel rely on what only "
    "the first launch finds, such as a counter that no launch resets, or on what its outputs hold before the launch?";
constexpr const char* racing_words =
    "; the first launch was right, and one in which the threads of a block change at random stores was not: do two of "
    "them write to one place without an atomic function or a barrier, or does the kernel rely on what only the first "
    "launch finds?";

const char* words_of_late_failure(bool sanitized) { return sanitized ? racing_words : late_words; }

void say_when(ipc::BenchAnswer& answer, bool sanitized) { answer.message += words_of_late_failure(sanitized); }

}  // namespace

void BenchSession::poison_outputs(BufferSet& set, validate::Poison poison) {
  device_check_ ? device_check_->poison_outputs(set, poison) : xtune::worker::poison_outputs(arguments_, set, poison);
}

/// The sets' outputs contain `poison` and the opposite one alternately.
bool BenchSession::judge_launch_of_all_sets(Sampler& sampler, ScratchBuffers& scratch, int launches,
                                            validate::Poison poison, ipc::BenchAnswer& answer) {
  scratch.renew();
  for (BufferSet& set : sets_) {
    poison_outputs(set, poison);
    poison = poison == validate::Poison::high ? validate::Poison::low : validate::Poison::high;
  }
  sampler.run_on(std::max(launches, static_cast<int>(sets_.size())));
  if (!scratch.check_guards(answer)) return false;
  for (BufferSet& set : sets_)
    if (!judge_outputs(set, answer)) return false;
  return true;
}

/// Launches back to back as in a sample, then once. A kernel that is right only every second time is caught: with one
/// set the checked launches are consecutive, with several sets all of them are checked.
bool BenchSession::judge_last_launch(measure::Program& program, Sampler& sampler, ScratchBuffers& scratch,
                                     ipc::BenchAnswer& answer) {
  if (program.times_itself()) {
    program.check_last_run();
    return true;
  }
  const bool right = judge_launch_of_all_sets(sampler, scratch, sampler.launches(), validate::Poison::high, answer) &&
                     (sets_.size() > 1 || judge_launch_of_all_sets(sampler, scratch, 1, validate::Poison::low, answer));
  if (right) {
    answer.stage = "validate";
    check_.judge(sets_[0], words_of_late_failure(job_.sanitize));
    answer.stage = "measure";
    leave_outputs(job_, arguments_, sets_[0], "last");
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

/// Checks guards and inputs first: a kernel that overwrites them makes the others' outputs wrong, and it is unknown
/// which one did. Then checks each kernel's outputs.
void BenchSession::judge_rounds(const std::vector<Contender*>& contenders, std::size_t& at, ipc::RoundsAnswer& answer) {
  ipc::BenchAnswer verdict;
  if (!judge_guards(verdict) || !judge_inputs(verdict)) {
    // All of them may have read overwritten data, so none of the times count.
    for (std::vector<double>& samples : answer.samples_ms) samples.clear();
    for (ipc::Reported& reported : answer.reported) reported.clear();
    if (contenders.size() == 1) answer.failed = 0;
  }
  for (at = 0; verdict.outcome == Outcome::ok && at < contenders.size(); ++at) {
    if (!constants_.check(*contenders[at]->program, verdict)) {
      answer.failed = at;
      break;
    }
    if (contenders[at]->program->times_itself()) continue;  // checked after its last run
    Sampler& sampler = contenders[at]->sampler;
    if (judge_launch_of_all_sets(sampler, *contenders[at]->scratch, sampler.launches(), validate::Poison::high,
                                 verdict)) {
      check_.judge(sets_[0], words_of_late_failure(job_.sanitize));
      leave_outputs(job_, arguments_, sets_[0], ipc::launch_of_round(at));
      continue;
    }
    say_when(verdict, job_.sanitize);
    answer.failed = at;
  }
  answer.outcome = verdict.outcome;
  answer.message = verdict.message;
}

}  // namespace xtune::worker
