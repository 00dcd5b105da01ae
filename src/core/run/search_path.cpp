// Makes the strategy, and keeps proposals and outcomes in step.
#include "core/run/search_path.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/run/advisor.hpp"
#include "core/run/run_context.hpp"
#include "core/run/services.hpp"
#include "xtune/remote.hpp"

namespace xtune::run {
namespace {

// For each process, so that all of them take the same path on any machine.
constexpr std::size_t window_a_process = 4, min_a_process = 2;
// Fraction of the evaluations: proposals made without the outcomes of more than that are worth too little.
constexpr std::uint64_t share_of_evals = 8;
// Of one process: a job for each compiler, some that wait for one, and for each device one in progress and one waiting.
constexpr std::size_t compilers_a_spare = 4;

/// Proposes the given configurations.
class Listed final : public search::SequenceStrategy {
 public:
  Listed(const space::Space& space, const std::vector<Bindings>& configs) {
    for (const Bindings& each : configs)
      if (const auto index = space.index_of(each)) indices_.push_back(*index);
  }
  std::uint64_t size() const noexcept override { return indices_.size(); }
  std::uint64_t at(std::uint64_t number) const override { return indices_[number]; }

 private:
  std::vector<std::uint64_t> indices_;
};

/// As StrategyOptions::compilers.
std::size_t compilers_of(const RunContext& run) {
  if (!run.arranges_compiles()) return 0;
  return run.services.remote ? run.services.remote->parallel() : run.services.compiler.parallel();
}

}  // namespace

bool learns_from_store(const RunContext& run) {
  const spec::SearchSpec& search = run.spec.search;
  return run.options.transfer && run.options.only.empty() &&
         !search::make_strategy(search.strategy, run.space, search.seed, run.evals)->sequence();
}

std::unique_ptr<search::Strategy> make_search(const RunContext& run, const store::GrowingRecords& records) {
  const TuneOptions& options = run.options;
  if (!options.only.empty()) return std::make_unique<Listed>(run.space, options.only);
  Knowledge knowledge = run.suggested;
  if (knowledge.default_index) {
    std::erase(knowledge.first, *knowledge.default_index);
    knowledge.first.insert(knowledge.first.begin(), *knowledge.default_index);
  }
  if (learns_from_store(run))
    add_sources(knowledge, run.spec, run.space, run.problem, run.target, records, options.store,
                options.peers ? options.peers->began_unix_ms() : std::numeric_limits<std::int64_t>::max());
  for (const std::string& note : knowledge.notes) run.observer.on_note(note);
  const spec::SearchSpec& search = run.spec.search;
  return search::make_strategy(
      search.strategy,
      search::StrategyOptions{run.space, search.seed, run.evals, std::move(knowledge.first),
                              std::move(knowledge.sources), std::move(knowledge.prior), compilers_of(run)});
}

std::size_t proposals_in_flight(std::size_t processes, std::uint64_t evals) {
  const auto share = static_cast<std::size_t>(std::min<std::uint64_t>(evals / share_of_evals, 1 << 20));
  return std::max(min_a_process * processes, std::min(window_a_process * processes, share));
}

SearchPath::Window proposal_window(const RunContext& run, std::size_t parallel) {
  if (run.options.peers) return {proposals_in_flight(run.options.peers->size(), run.evals), true};
  if (run.services.remote) return {proposals_in_flight(run.services.remote->parallel(), run.evals)};
  if (run.alternates) return {run.max_in_flight};
  return {parallel + (parallel + compilers_a_spare - 1) / compilers_a_spare + 2 * run.services.benches.size()};
}

SearchPath::SearchPath(std::unique_ptr<search::Strategy> strategy, Window window)
    : strategy_(std::move(strategy)),
      window_{learns() ? std::max<std::size_t>(window.proposals, 1) : std::numeric_limits<std::size_t>::max(),
              window.in_order && learns()} {}

SearchPath::~SearchPath() = default;

void SearchPath::set_advisor(std::unique_ptr<Advisor> advisor) { advisor_ = std::move(advisor); }

std::optional<AdvisorResult> SearchPath::advice() const {
  return advisor_ ? std::optional(advisor_->result()) : std::nullopt;
}

std::optional<SearchPath::Proposal> SearchPath::next() {
  if (!advisor_ || exhausted_) return next_of_strategy();
  for (auto wanted = advisor_->next(); wanted && !strategy_->offer(*wanted); wanted = advisor_->next())
    advisor_->refuse(*wanted);
  std::optional<Proposal> proposal = next_of_strategy();
  if (proposal) proposal->advised = advisor_->proposed(proposal->index);
  return proposal;
}

std::optional<SearchPath::Proposal> SearchPath::next_of_strategy() {
  while (!exhausted_) {
    if (!starved_ && proposed_ - shown_ < window_.proposals) {
      const std::vector<std::uint64_t> indices = strategy_->propose(1);
      if (!indices.empty()) return Proposal{proposed_++, indices.front()};
      starved_ = true;
      exhausted_ = proposed_ == shown_;
    }
    if (!show_next()) return std::nullopt;
  }
  return std::nullopt;
}

bool SearchPath::show_next() {
  const auto first = outcomes_.begin();
  if (first == outcomes_.end() || (window_.in_order && first->first.second != shown_)) return false;
  strategy_->observe(first->second);
  outcomes_.erase(first);
  ++shown_;
  starved_ = false;
  return true;
}

void SearchPath::set_outcome(std::uint64_t number, const search::Observation& outcome, std::int64_t stored_ms) {
  if (ignores_outcomes_) return;
  outcomes_.emplace(std::pair(window_.in_order ? 0 : stored_ms, number), outcome);
  // For a strategy that does not learn, outcomes are not kept: there may be millions.
  while (!learns() && show_next()) {
  }
}

}  // namespace xtune::run
