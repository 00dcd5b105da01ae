// What a run tries: its strategy, and each proposal until it is compiled.
#include <algorithm>
#include <limits>

#include "base/causes.hpp"
#include "core/record/future_records.hpp"
#include "core/run/knowledge.hpp"
#include "core/run/time_limits.hpp"
#include "core/run/tuning.hpp"
#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

/// Proposes what it was given.
class Listed final : public SequenceStrategy {
 public:
  Listed(const Space& space, const std::vector<Bindings>& configs) {
    for (const Bindings& each : configs)
      if (const auto index = index_of(space, each)) indices_.push_back(*index);
  }
  std::uint64_t size() const noexcept override { return indices_.size(); }
  std::uint64_t at(std::uint64_t number) const override { return indices_[number]; }

 private:
  std::vector<std::uint64_t> indices_;
};

}  // namespace

std::optional<std::uint64_t> index_of(const Space& space, const Bindings& config) {
  Config values;
  if (config.size() != space.parameters().size()) return std::nullopt;
  for (const Parameter& parameter : space.parameters()) {
    const auto found = config.find(parameter.name);
    if (found == config.end()) return std::nullopt;
    values.push_back(found->second);
  }
  return space.index_of(values);
}

std::unique_ptr<Strategy> Tuning::make_search(const Bindings& problem) {
  if (!options_.only.empty()) return std::make_unique<Listed>(space_, options_.only);
  Knowledge knowledge = candidates_of(spec_, space_, problem, target_);
  const SearchSpec& search = spec_.search;
  const bool learns = !make_strategy(search.strategy, space_, search.seed, evals_)->sequence();
  // All peers must learn from the same records, whenever each of them begins.
  if (options_.peers)
    std::erase_if(on_arch_,
                  [&](const Record& record) { return record.unix_time_ms >= options_.peers->began_unix_ms(); });
  if (options_.transfer && learns) add_sources(knowledge, spec_, space_, problem, target_, on_arch_, options_.store);
  for (const std::string& note : knowledge.notes) observer_.on_note(note);
  return make_strategy(search.strategy, StrategyOptions{space_, search.seed, evals_, std::move(knowledge.first),
                                                        std::move(knowledge.sources)});
}

/// A large space takes long enough to build for a user to lose patience.
void Tuning::stop_where_asked() {
  loop_.run_ready();
  if (stop_.load()) throw Error(ErrorKind::interrupted, "stopped while the space was built; nothing was measured yet");
}

/// Adds the rows that may guide a search of this problem, as add_sources has them.
void Tuning::add_guides(std::vector<GrowingRecords::Row>& rows, const GrowingRecords& stored, const Bindings& problem) {
  std::int64_t first_own_ms = std::numeric_limits<std::int64_t>::max();
  for (const GrowingRecords::Row& row : rows)
    if (same_driver(row.view->device_of(*row.config), target_.device))
      first_own_ms = std::min(first_own_ms, row.config->unix_time_ms);
  stored.each_row([&](const GrowingRecords::Row& row) {
    const bool is_own =
        same_device(row.view->device_of(*row.config), target_.device) && row.view->problem_of(*row.config) == problem;
    if (!is_own && row.config->unix_time_ms < first_own_ms) rows.push_back(row);
  });
}

/// Those of this problem on this kind of device; and where a search learns, those that may guide it (add_sources).
std::vector<Record> Tuning::read_store(const Bindings& problem) {
  std::optional<GrowingRecords> own;
  GrowingRecords& stored =
      options_.records ? *options_.records : own.emplace(options_.store, target_.device.arch, spec_.kernel.name);
  stored.refresh();
  std::vector<GrowingRecords::Row> rows = stored.rows_of(problem, target_.device);
  if (options_.transfer && options_.only.empty() &&
      !make_strategy(spec_.search.strategy, space_, spec_.search.seed, evals_)->sequence())
    add_guides(rows, stored, problem);
  RecordSet set = stored.read(std::move(rows));
  Causes causes;
  for (const std::string& warning : set.warnings) causes.add(warning);
  for (const Cause& cause : causes.all()) observer_.on_warning(cause.text());
  FutureRecords future(clock_.unix_time_ms());
  for (const Record& record : set.records) {
    stamps_.learn(record);
    future.look_at(record);
  }
  if (const std::string text = future.text(); !text.empty())
    observer_.on_warning(text + ": a clock was wrong then, or is now; what this run measures counts as newer");
  return std::move(set.records);
}

TrialPtr Tuning::make_trial(std::uint64_t index) {
  auto trial = std::make_shared<Trial>();
  trial->proposal.index = index;
  trial->config = space_.at(index);
  trial->request = resolver_.compile_request(trial->config);
  Record& record = trial->record;
  record.kernel = spec_.kernel.name;
  record.problem = result_.problem;
  record.config = resolver_.config_bindings(trial->config);
  record.device = target_.device;
  record.toolchain = target_.backend.toolchain;
  record.attempt = options_.attempt;
  record.artifact_key = resolver_.artifact_key(trial->request);
  record.key_parts = resolver_.measurement_key_parts(trial->config, record.artifact_key);
  record.key = key_of(record.key_parts);
  return trial;
}

void Tuning::consider(const SearchPath::Proposal& proposal) {
  const TrialPtr trial = make_trial(proposal.index);
  trial->proposal = proposal;
  if (!serve_from_store(trial) && (blocks_ || ours(trial, trial->record.key))) begin(trial);
}

void Tuning::begin(const TrialPtr& trial) {
  try {
    trial->launch = resolver_.launch(trial->config);
    if (const auto violation = resolver_.limit_violation(trial->launch, nullptr))
      throw CandidateFailure(Outcome::rejected, *violation);
  } catch (const CandidateFailure& failure) {
    trial->record.outcome = failure.outcome();
    trial->record.stage = "space";
    trial->record.message = failure.what();
    finish(*trial, "");
    return;
  }
  start_compile(trial);
}

bool Tuning::serve_from_store(const TrialPtr& trial) {
  const Record* const found = stored_.find(trial->record.key);
  if (!found) return false;
  const bool of_today = options_.peers && found->unix_time_ms >= options_.peers->began_unix_ms();
  const Outcome outcome = found->outcome;
  if (options_.fresh && !of_today) return false;
  if (options_.retry_failed && !of_today && (outcome == Outcome::crashed || outcome == Outcome::timed_out))
    return false;
  if (outcome == Outcome::pruned && !races()) return false;
  if (!of_today && !answers_under_limits(*found, spec_)) return false;
  ++result_.from_store;
  result_.from_peers += of_today;
  take(*trial, stored_.take(trial->record.key), "", true);
  if (races() && outcome == Outcome::ok) {
    trial->record = result_.records.back();
    consider_incumbent(trial, true);
  }
  return true;
}

}  // namespace xtune
