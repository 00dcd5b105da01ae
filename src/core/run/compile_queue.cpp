// Jobs by artifact, and their cost.
#include "core/run/compile_queue.hpp"

#include <utility>

#include "core/build/keyed_files.hpp"

namespace xtune::run {

CompileQueue::CompileQueue(const RunContext& run, ipc::CompileService& compiler, WorkerTotals& totals,
                           bool longest_first, Done done)
    : run_(run),
      compiler_(compiler),
      totals_(totals),
      longest_first_(longest_first),
      done_(std::move(done)),
      times_(run.space) {}

void CompileQueue::start(const TrialPtr& trial) {
  if (!first_start_ns_) first_start_ns_ = run_.clock.now_ns();
  ++trials_;
  const std::string& key = trial->record.artifact_key;
  auto& waiting = waiting_[key];
  waiting.push_back(trial);
  if (waiting.size() > 1) return;
  ipc::CompileJob job = run_.compile_job(key, trial->request);
  if (trial->purpose == Trial::Purpose::search && longest_first_)
    job.expected_s = times_.expected_s(run_.space.value_indices(trial->proposal.index));
  compiler_.compile(job, run_.spec.kernel.compile_timeout_s,
                    [this, key](const ipc::CompileAnswer& answer) { finish(key, answer); });
}

void CompileQueue::finish(const std::string& key, const ipc::CompileAnswer& answer) {
  ++totals_.answers;
  const auto found = waiting_.find(key);
  const std::vector<TrialPtr> trials = std::move(found->second);
  waiting_.erase(found);
  trials_ -= trials.size();
  if (!answer.warning.empty() && !std::exchange(warned_of_cache_, true))
    run_.observer.on_warning(answer.warning + "; compiled kernels are kept only for this run");
  // A worker that compiled has checked the files; one that was killed has not.
  if (answer.outcome != Outcome::ok && trials.front()->request.files)
    build::throw_if_changed(*trials.front()->request.files);
  totals_.compile_cpu_s += answer.cpu_s;
  if (longest_first_ && !answer.cached)
    times_.learn(run_.space.value_indices(trials.front()->proposal.index), answer.cpu_s);
  totals_.compile_wall_s = static_cast<double>(run_.clock.now_ns() - *first_start_ns_) * 1e-9;
  for (const TrialPtr& trial : trials) {
    trial->request = {};  // a source may be long, and is no longer needed
    trial->artifact = answer.artifact;
    done_(trial, answer);
  }
}

void CompileQueue::cancel_all() {
  compiler_.cancel_all();
  waiting_.clear();
  trials_ = 0;
}

}  // namespace xtune::run
