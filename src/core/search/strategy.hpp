// The interface of a search strategy: which configurations to try next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/space.hpp"
#include "xtune/outcome.hpp"

namespace xtune::search {

/// The result of one configuration, for a strategy.
struct Observation {
  std::uint64_t index = 0;  ///< in the Space
  Outcome outcome = Outcome::ok;
  double time_ms = 0;    ///< ok: the statistic; pruned: a lower bound; else without meaning
  double compile_s = 0;  ///< CPU time of its compile; 0: there was none, or it is unknown
};

/// The part of an observation that a learning strategy keeps: a configuration's first result. Invalid times (not
/// finite, not positive) are failures.
struct SearchResult {
  enum class Kind : std::uint8_t { measured, bound, failed };
  std::uint64_t index = 0;
  Kind kind = Kind::failed;
  double time_ms = 0;    ///< measured: the statistic; bound: a lower bound; failed: 0
  double compile_s = 0;  ///< as Observation
};

/// The numbered proposals of a strategy that ignores observations.
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
  /// Returns up to max configurations that were not proposed before, to be tried in any order. Returns fewer (or none)
  /// while it waits for observations; none with nothing outstanding means that the space is exhausted or the strategy
  /// is done.
  virtual std::vector<std::uint64_t> propose(std::size_t max) = 0;
  virtual void observe(const Observation& observation) = 0;
  /// Makes this configuration the next proposal, as if the options had listed it. False: it does not, because the
  /// configuration was proposed or observed before, or the strategy ignores observations.
  virtual bool offer(std::uint64_t /*index*/) { return false; }
  /// All proposals in order, if observations do not change them; nullptr: the strategy learns. Has the lifetime of
  /// this.
  virtual const Sequence* sequence() const noexcept { return nullptr; }
};

/// Proposes a sequence, one configuration after the other.
class SequenceStrategy : public Strategy, public Sequence {
 public:
  std::vector<std::uint64_t> propose(std::size_t max) final;
  void observe(const Observation& /*observation*/) final {}
  const Sequence* sequence() const noexcept final { return this; }

 private:
  std::uint64_t proposed_ = 0;
};

/// Results of another device, or of another problem size of the same kernel.
struct Source {
  std::string name;
  std::vector<Observation> observations;  ///< by index in this space
};

/// What a model of the hardware expects.
struct Prior {
  std::function<double(std::uint64_t index)> time_ms;  ///< NaN: it cannot run; empty: no model
  std::vector<std::uint64_t> best;                     ///< many configurations that it rates best, best first
};

/// The inputs of a strategy. space must outlive the strategy.
struct StrategyOptions {
  const space::Space& space;
  std::uint64_t seed = 1;
  std::uint64_t evals = 0;
  std::vector<std::uint64_t> first =
      {};  ///< configurations to try first, best first; those outside of the space are ignored
  std::vector<Source> sources = {};
  Prior prior = {};
  std::size_t compilers = 0;  ///< that work at once; 0: unknown, or compile times must not matter
};

/// Throws Error(invalid_argument) for an unknown name, naming the nearest.
std::unique_ptr<Strategy> make_strategy(std::string_view name, StrategyOptions options);
/// The same without earlier results. space must outlive the strategy.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const space::Space& space, std::uint64_t seed,
                                        std::uint64_t evals);
std::vector<std::string> strategy_names();
/// "unknown strategy 'bayes' (did you mean 'bayesian'?); one of auto, ..."; empty for a known one.
std::string strategy_complaint(std::string_view name);

/// Makes a strategy of strategies.def; options.evals is at most the size of the space.
using StrategyFactory = std::unique_ptr<Strategy> (*)(const StrategyOptions& options);
#define STRATEGY(name, factory) std::unique_ptr<Strategy> factory(const StrategyOptions& options);
#include "core/search/strategies.def"
#undef STRATEGY

}  // namespace xtune::search
