// A strategy driven in step with the outcomes of its proposals, so that the same outcomes always lead the same way.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "core/search/strategy.hpp"

namespace xtune::run {

/// What a strategy proposes depends on the outcomes of its earlier proposals and on when it sees them. Here it sees
/// them in order of proposal and at fixed points: the n-th proposal is made once it has seen the outcomes up to n -
/// window, and no others. So neither the speed of a compile worker nor a crash in the middle changes the way of a
/// search: a run resumes, and a stored run repeats, without measuring anything else.
class SearchPath {
 public:
  /// window: proposals without an outcome at most, at least 1; a strategy that does not learn needs none.
  SearchPath(std::unique_ptr<search::Strategy> strategy, std::size_t window);

  struct Proposal {
    std::uint64_t number = 0;  ///< counts from 0
    std::uint64_t index = 0;   ///< in the space
  };
  /// nullopt: not before another outcome is known, or never again (exhausted).
  std::optional<Proposal> next();
  /// Once for each proposal, in any order.
  void set_outcome(std::uint64_t number, const search::Observation& outcome);
  /// Outcomes change the way: proposals made far ahead of them are worth less.
  bool learns() const noexcept { return sequence() == nullptr; }
  /// What it proposes, where outcomes change nothing; else nullptr.
  const search::Sequence* sequence() const noexcept { return strategy_->sequence(); }
  /// The strategy has seen every outcome and proposes nothing more.
  bool exhausted() const noexcept { return exhausted_; }

 private:
  bool show_next();
  std::unique_ptr<search::Strategy> strategy_;
  std::size_t window_;
  std::deque<std::optional<search::Observation>> outcomes_;  ///< of proposals from shown_ on; unset: not known yet
  std::uint64_t shown_ = 0;
  bool starved_ = false;  ///< it proposes nothing before it sees another outcome
  bool exhausted_ = false;
};

}  // namespace xtune::run
