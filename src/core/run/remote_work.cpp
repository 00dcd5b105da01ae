// Batches for other machines, and their records.
#include "core/run/remote_work.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/text.hpp"
#include "core/run/run_parts.hpp"
#include "core/store/bundle.hpp"
#include "core/store/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

constexpr std::uint64_t look_every_ms = 20;
/// Configurations: enough for the start of a worker and its inputs to be a small part of the time, and few to lose.
constexpr std::size_t max_in_a_batch = 8;

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

RemoteWork::RemoteWork(RunParts& run, RemoteDevices& devices) : run_(run), devices_(devices) {}

bool RemoteWork::room() const { return trials() < 2 * max_in_a_batch * devices_.parallel(); }

void RemoteWork::send() {
  const std::size_t parallel = std::max<std::size_t>(devices_.parallel(), 1);
  while (!waiting_.empty() && batches_.size() < parallel) {
    const std::size_t unused = parallel - batches_.size(), share = (waiting_.size() + unused - 1) / unused;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(share, max_in_a_batch));
    std::vector<TrialPtr> trials(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    send(std::move(trials), false);
  }
}

void RemoteWork::send(std::vector<TrialPtr> trials, bool finals) {
  RemoteDevices::Batch batch{next_id(), run_.problem, {}, finals};
  for (const TrialPtr& trial : trials) batch.configs.push_back(trial->record.config);
  sent_ += trials.size();
  const std::size_t count = trials.size();
  batches_.emplace(batch.id, Batch{std::move(trials), finals, count});
  devices_.send(batch);
  if (batches_.size() == 1) look_later();
}

void RemoteWork::look_later() {
  next_look_ = run_.loop.call_after(look_every_ms, [this] {
    for (const RemoteDevices::Answer& answer : devices_.answers()) take(answer);
    if (!batches_.empty()) look_later();
  });
}

void RemoteWork::take(const RemoteDevices::Answer& answer) {
  const auto found = batches_.find(answer.batch);
  if (found == batches_.end()) return;
  ++run_.totals.answers;
  Batch& batch = found->second;
  const bool finals = batch.finals;
  const std::vector<store::Record> records = store::parse_records("a worker's answer", answer.records).records;
  if (!answer.artifacts.empty()) keep_artifacts(answer.artifacts);
  std::vector<TrialPtr> trials;
  for (const std::size_t which : answer.configs) trials.push_back(batch.trials.at(which));
  sent_ -= trials.size();
  batch.left -= trials.size();
  if (batch.left == 0) batches_.erase(found);
  std::string lost = answer.lost;
  if (lost.empty()) lost = "the worker stored no result, since its machine may have lacked something";
  std::vector<TrialPtr> finalists;
  for (const TrialPtr& trial : trials) {
    const bool filled = fill(*trial, records, finals);
    run_.totals.device_busy_s += filled ? trial->record.bench_s : 0;
    if (finals) {
      if (filled) finalists.push_back(trial);
      continue;
    }
    run_.totals.compile_cpu_s += filled ? trial->record.compile_cpu_s : 0;
    if (!filled) {
      trial->record.outcome = Outcome::crashed;
      trial->record.stage = "run";
      trial->record.message = lost;
      trial->lack = build::Lack::unclear;
    }
    run_.outcomes.finish(*trial, trial->record.log);
  }
  if (!finals) return;
  if (finalists.size() < 2) run_.observer.on_warning("no finals were held: " + lost);
  run_.finals.take(finalists);
}

/// Whether there is a record of the trial.
bool RemoteWork::fill(Trial& trial, const std::vector<store::Record>& records, bool finals) const {
  const auto answers = [&](const store::Record& record) {
    if (record.kernel != run_.spec.kernel.name || record.problem != run_.problem) return false;
    if (record.config != trial.record.config || record.drift) return false;
    return finals == !record.finals.empty() || (finals && record.outcome != Outcome::ok);
  };
  const auto found = std::find_if(records.rbegin(), records.rend(), answers);
  if (found == records.rend()) return false;
  const std::string proposed_by = trial.record.proposed_by;
  trial.record = *found;
  trial.record.proposed_by = proposed_by;
  return true;
}

void RemoteWork::keep_artifacts(const std::filesystem::path& from) {
  try {
    store::merge_store(run_.options.artifact_store(), from);
  } catch (const Error& error) {
    if (!std::exchange(warned_of_artifacts_, true))
      run_.observer.on_warning(std::string("what a worker compiled is not kept: ") + error.what());
  }
}

void RemoteWork::cancel_all() {
  waiting_.clear();
  batches_.clear();
  sent_ = 0;
  devices_.cancel_all();
}

}  // namespace xtune::run
