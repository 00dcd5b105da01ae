// What every strategy that learns has in common: the budget, no repetition, and results taken in one form.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"
#include "core/search/following.hpp"
#include "core/search/guidance.hpp"
#include "core/search/opening.hpp"
#include "core/search/permutation.hpp"
#include "core/search/result.hpp"
#include "core/search/strategies.hpp"

namespace xtune::search {

/// A strategy that says only which configuration it wants next; the rest is done here. Where next() has nothing to say,
/// or names what is known already, an unknown configuration drawn at random fills the place, so proposals never wait.
/// What the options say to try first comes first. Then the sources propose as often as Following allows it.
class BudgetedSearch : public Strategy {
 public:
  explicit BudgetedSearch(const StrategyOptions& options);
  std::vector<std::uint64_t> propose(std::size_t max) final;
  void observe(const Observation& observation) final;

  /// Proposed, or observed without having been proposed.
  bool known(std::uint64_t index) const { return known_.contains(index); }
  const std::vector<SearchResult>& results() const noexcept { return results_; }
  /// Proposed and not observed yet, in the order of proposal.
  const std::vector<std::uint64_t>& outstanding() const noexcept { return outstanding_; }
  const space::Space& space() const noexcept { return space_; }

 protected:
  /// The next wish; it need not be unknown.
  virtual std::optional<std::uint64_t> next() = 0;
  /// Each configuration's first result, in the order in which they come.
  virtual void learn(const SearchResult&) {}

  /// A configuration that is not known, uniformly; nullopt: there is none.
  std::optional<std::uint64_t> fresh();
  /// An unknown configuration near `index`: itself, or one of a few random steps away; nullopt: all that were tried are
  /// known. Where the nearest results failed, it is mostly passed over.
  std::optional<std::uint64_t> unknown_near(std::uint64_t index);
  /// The fastest measured, as a position in results().
  const std::optional<std::size_t>& best() const noexcept { return best_; }
  /// Results of other proposals than the sources'.
  std::uint64_t own_results() const noexcept { return own_results_; }
  std::uint64_t proposed() const noexcept { return proposed_; }
  std::uint64_t evals() const noexcept { return evals_; }
  base::Random& random() noexcept { return random_; }
  const Features& features() const noexcept { return features_; }

 private:
  bool likely_to_fail(std::uint64_t index) const;
  std::optional<std::uint64_t> opening();

  const space::Space& space_;
  std::uint64_t evals_;
  base::Random random_, guidance_random_;
  Permutation order_;
  Features features_;
  Guidance guidance_;
  std::optional<Opening> opening_;  // while the sources are followed
  Following following_;
  std::unordered_set<std::uint64_t> followed_;
  std::uint64_t drawn_ = 0, proposed_ = 0, own_results_ = 0;
  std::vector<std::uint64_t> first_;  // reversed: the best is at the end
  std::unordered_set<std::uint64_t> known_;
  std::unordered_set<std::uint64_t> observed_;
  std::vector<std::uint64_t> outstanding_;
  std::vector<SearchResult> results_;
  std::vector<std::vector<std::uint32_t>> failed_, succeeded_;  // digits
  std::optional<std::size_t> best_;
};

}  // namespace xtune::search
