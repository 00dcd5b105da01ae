// Jobs by artifact.
#include <utility>

#include "core/build/keyed_files.hpp"
#include "core/run/run_parts.hpp"

namespace xtune::run {
CompileQueue::CompileQueue(RunParts& run) : run_(run), longest_first_(run.arranges_compiles()), times_(run.space) {}

void CompileQueue::start(const TrialPtr& trial) {
  run_.setup.prepare();
  if (!first_start_ns_) first_start_ns_ = run_.services.clock.now_ns();
  ++trials_;
  const std::string& key = trial->record.artifact_key;
  auto& waiting = waiting_[key];
  waiting.push_back(trial);
  if (waiting.size() > 1) return;
  CompileJob job = run_.compile_job(key, trial->request);
  if (trial->purpose == Trial::Purpose::search && longest_first_)
    job.expected_s = times_.expected_s(run_.space.value_indices(trial->proposal.index));
  run_.compiler.compile(job, run_.spec.kernel.compile_timeout_s,
                        [this, key](const CompileAnswer& answer) { finish(key, answer); });
}

void CompileQueue::finish(const std::string& key, const CompileAnswer& answer) {
  ++run_.totals.answers;
  const auto found = waiting_.find(key);
  const std::vector<TrialPtr> trials = std::move(found->second);
  waiting_.erase(found);
  trials_ -= trials.size();
  if (!answer.warning.empty() && !std::exchange(warned_of_cache_, true))
    run_.observer.on_warning(answer.warning + "; compiled kernels are kept only for this run");
  // A worker that compiled has checked the files; one that was killed has not.
  if (answer.outcome != Outcome::ok && trials.front()->request.files) {
    build::KeyedFiles files = *trials.front()->request.files;
    build::settle(files);
  }
  run_.resolver.learn(trials.front()->request.source_name, answer.artifact.manifest);
  run_.totals.compile_cpu_s += answer.cpu_s;
  if (longest_first_ && !answer.cached)
    times_.learn(run_.space.value_indices(trials.front()->proposal.index), answer.cpu_s);
  run_.totals.compile_wall_s = static_cast<double>(run_.services.clock.now_ns() - *first_start_ns_) * 1e-9;
  for (const TrialPtr& trial : trials) {
    if (const std::string& made = answer.artifact.key; !made.empty() && made != trial->record.artifact_key)
      run_.set_keys(trial->record, trial->config, made);
    trial->request = {};  // a source may be long, and is no longer needed
    trial->artifact = answer.artifact;
    run_.take_compiled(trial, answer);
  }
}

void CompileQueue::cancel_all() {
  run_.compiler.cancel_all();
  waiting_.clear();
  trials_ = 0;
}

}  // namespace xtune::run
