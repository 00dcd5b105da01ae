// What a run tries: its strategy, and each proposal until it is compiled.
#include <limits>

#include "core/run/knowledge.hpp"
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
  if (learns_from_store())
    add_sources(knowledge, spec_, space_, problem, target_, store_records_, options_.store,
                options_.peers ? options_.peers->began_unix_ms() : std::numeric_limits<std::int64_t>::max());
  for (const std::string& note : knowledge.notes) observer_.on_note(note);
  return make_strategy(search.strategy, StrategyOptions{space_, search.seed, evals_, std::move(knowledge.first),
                                                        std::move(knowledge.sources)});
}

/// A large space takes long enough to build for a user to lose patience.
void Tuning::stop_where_asked() {
  loop_.run_ready();
  if (stop_.load()) throw Error(ErrorKind::interrupted, "stopped while the space was built; nothing was measured yet");
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

KeyDigest Tuning::key_at(std::uint64_t index) { return KeyDigest(keys_.of(space_.at(index))); }

void Tuning::consider(const SearchPath::Proposal& proposal) {
  if (!stored_.empty() && serve_from_store(proposal, key_at(proposal.index))) return;
  const TrialPtr trial = make_trial(proposal.index);
  trial->proposal = proposal;
  if (blocks_ || ours(trial, trial->record.key)) begin(trial);
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

}  // namespace xtune
