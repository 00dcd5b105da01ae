// The interface of a search strategy: which configurations to try next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/space.hpp"
#include "xtune/outcome.hpp"

namespace xtune::search {

/// What came of one configuration, as a strategy sees it.
struct Observation {
  std::uint64_t index = 0;  ///< in the Space
  Outcome outcome = Outcome::ok;
  double time_ms = 0;  ///< ok: the statistic; pruned: a lower bound; else meaningless
};

/// The proposals of a strategy that nothing changes, by their number.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual std::uint64_t size() const noexcept = 0;
  /// number < size. Constant time, or nearly so.
  virtual std::uint64_t at(std::uint64_t number) const = 0;
};

/// Pure: no I/O, no clock, no device; the same seed and the same observations give the same proposals.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to max configurations not proposed before, to be tried in any order. Fewer (even none) when it waits for
  /// observations; none with nothing outstanding means that the space is exhausted or the strategy is done.
  virtual std::vector<std::uint64_t> propose(std::size_t max) = 0;
  virtual void observe(const Observation& observation) = 0;
  /// All that it proposes, in order, where observations change nothing of it; nullptr: it learns. Lives as long as it.
  virtual const Sequence* sequence() const noexcept { return nullptr; }
};

/// Proposes a sequence, one after the other.
class SequenceStrategy : public Strategy, public Sequence {
 public:
  std::vector<std::uint64_t> propose(std::size_t max) final;
  void observe(const Observation& /*observation*/) final {}
  const Sequence* sequence() const noexcept final { return this; }

 private:
  std::uint64_t proposed_ = 0;
};

/// What another device, or another problem size of the same kernel, is known to do.
struct Source {
  std::string name;
  std::vector<Observation> observations;  ///< by index in this space
};

/// What a strategy is given. space outlives the strategy.
struct StrategyOptions {
  const space::Space& space;
  std::uint64_t seed = 1;
  std::uint64_t evals = 0;
  std::vector<std::uint64_t> first =
      {};  ///< worth trying first, the best of them first; others than of the space are ignored
  std::vector<Source> sources = {};
};

/// Throws Error(invalid_argument) for an unknown name, naming the nearest.
std::unique_ptr<Strategy> make_strategy(std::string_view name, StrategyOptions options);
/// Without knowledge. space outlives the strategy.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const space::Space& space, std::uint64_t seed,
                                        std::uint64_t evals);
std::vector<std::string> strategy_names();
/// "unknown strategy 'bayes' (did you mean 'bayesian'?); one of auto, ..."; empty for a known one.
std::string strategy_complaint(std::string_view name);

}  // namespace xtune::search
