// The common part of all strategies that learn: the budget, no repetition, and results in one form.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"
#include "core/search/moves.hpp"
#include "core/search/opening.hpp"
#include "core/search/samples.hpp"
#include "core/search/strategy.hpp"

namespace xtune::search {

/// A strategy that chooses only the next configuration; this class does the rest. If next() returns nothing, or a known
/// configuration, a random unknown configuration is proposed instead, so proposals never wait. Configurations that the
/// options list come first. Then the sources propose as often as Following allows.
class BudgetedSearch : public Strategy {
 public:
  explicit BudgetedSearch(const StrategyOptions& options);
  std::vector<std::uint64_t> propose(std::size_t max) final;
  void observe(const Observation& observation) final;
  bool offer(std::uint64_t index) final;

  /// Whether it was proposed, or observed without having been proposed.
  bool known(std::uint64_t index) const { return known_.contains(index); }
  const std::vector<SearchResult>& results() const noexcept { return results_; }
  /// Configurations that were proposed and not observed yet, in the order of proposal.
  const std::vector<std::uint64_t>& outstanding() const noexcept { return outstanding_; }
  const space::Space& space() const noexcept { return space_; }
  std::uint64_t left() const noexcept { return evals_ - proposed_; }  ///< proposals

 protected:
  /// The next wanted configuration; it may be known already.
  virtual std::optional<std::uint64_t> next() = 0;
  /// Receives each configuration's first result, in the order in which they arrive.
  virtual void learn(const SearchResult&) {}

  /// A configuration that is not known, drawn uniformly; nullopt: there is none.
  std::optional<std::uint64_t> fresh();
  /// An unknown configuration near `index`: itself, or one a few random steps away; nullopt: all that were tried are
  /// known. Configurations whose nearest results failed are mostly skipped.
  std::optional<std::uint64_t> unknown_near(std::uint64_t index);
  /// The fastest measured configuration, as a position in results().
  const std::optional<std::size_t>& best() const noexcept { return best_; }
  /// Number of results for proposals that did not come from the sources.
  std::uint64_t own_results() const noexcept { return sources_.own_results(); }
  bool guided() const noexcept { return sources_.any(); }
  std::uint64_t proposed() const noexcept { return proposed_; }
  std::uint64_t evals() const noexcept { return evals_; }
  base::Random& random() noexcept { return random_; }
  const Features& features() const noexcept { return features_; }

 private:
  const space::Space& space_;
  std::uint64_t evals_;
  base::Random random_;
  Permutation order_;
  Features features_;
  SourceProposals sources_;
  std::uint64_t drawn_ = 0, proposed_ = 0;
  std::vector<std::uint64_t> first_;  // reversed: the best is at the end
  std::unordered_set<std::uint64_t> known_;
  std::unordered_set<std::uint64_t> observed_;
  std::vector<std::uint64_t> outstanding_;
  std::vector<SearchResult> results_;
  KnownFailures failures_;
  std::optional<std::size_t> best_;
};

}  // namespace xtune::search
