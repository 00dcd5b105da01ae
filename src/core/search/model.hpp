// Models for a model-based search: their training data, their first configurations, and their predictions.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"
#include "core/search/strategy.hpp"

namespace xtune::search {

/// Logarithms of times, compressed for times that are much slower than the best: near the best it matters how good a
/// place is, elsewhere only that it is bad.
class SoftLogarithm {
 public:
  SoftLogarithm() = default;
  /// times_ms: positive, ascending, not empty.
  explicit SoftLogarithm(std::span<const double> times_ms);
  double operator()(double time_ms) const noexcept;
  double cap() const noexcept { return cap_; }  ///< beyond it slowness is compressed

 private:
  double cap_ = 0;
};

/// Built from all results whenever there are new ones. A target is the result's SoftLogarithm less what the prior
/// explains of it, centred and divided by the deviation.
class Lesson {
 public:
  using Estimate = std::function<double(std::uint64_t)>;

  /// results: at least one must be measured. estimate: Prior::time_ms.
  explicit Lesson(std::span<const SearchResult> results, Estimate estimate = {});

  const std::vector<std::uint64_t>& timed() const noexcept { return timed_; }  ///< fastest first; bounds count as times
  const std::vector<std::uint64_t>& failed() const noexcept { return failed_; }  ///< in the order of the results
  /// NaN: failed, or not known.
  float target(std::uint64_t index) const;
  /// One for a failure, else zero, minus the fraction of failures; NaN: not known.
  float failure(std::uint64_t index) const;
  float failure_rate() const noexcept { return failure_rate_; }
  /// What the prior explains of a target, in the same unit; 0 without a prior.
  float explained(std::uint64_t index) const;
  /// The minimum of target and explained part of the measured configurations.
  float best() const noexcept { return best_; }

 private:
  void trust_prior(const std::vector<SearchResult>& timed, std::vector<double>& values);
  double expected(std::uint64_t index) const;

  std::vector<std::uint64_t> timed_, failed_;
  std::unordered_map<std::uint64_t, float> targets_;  // NaN: failed
  Estimate estimate_;
  SoftLogarithm logarithm_;
  double factor_ = 1, weight_ = 0, deviation_ = 1;  // times over estimates; trust in the prior; of the targets
  float best_ = 0, failure_rate_ = 0;
};

/// Logarithm of the expected improvement upon `best` (less is better) of a normal variable (Jones, Schonlau and Welch,
/// "Efficient Global Optimization of Expensive Black-Box Functions", 1998). Uses the asymptote if the improvement is
/// too unlikely for doubles. deviation > 0.
inline double log_expected_improvement(double mean, double deviation, double best) {
  const double z = (best - mean) / deviation;
  const double log_density = -z * z / 2 - 0.5 * std::log(2 * M_PI);
  if (z < -5) return std::log(deviation) + log_density - 2 * std::log(-z);
  return std::log(deviation) + std::log(std::exp(log_density) + z * 0.5 * std::erfc(-z / std::sqrt(2.0)));
}

/// Draws a hundred random configurations, or some that the prior rates nearly best. The first choice is the one nearest
/// the centre of all features; later choices are far from those before and not far from the centre, since extremes of
/// many parameters at once are seldom good.
class InitialDesign {
 public:
  /// All arguments must outlive it.
  InitialDesign(const space::Space& space, const Features& features, const Prior& prior);
  /// The result may be known to the search already. nullopt: the space is empty.
  std::optional<std::uint64_t> next(base::Random& random);

 private:
  const space::Space& space_;
  const Features& features_;
  std::span<const std::uint64_t> likely_;  // by the prior
  std::vector<std::vector<float>> taken_;
};

/// A prediction in units of the lesson's targets.
struct Prediction {
  float mean = 0;
  float deviation = 1;
  float failure = 0;  ///< probability
};

/// Predicts targets for a pool of candidates, which are numbered in the order given.
class Model {
 public:
  virtual ~Model() = default;
  /// Forgets everything, learns the lesson and the outstanding configurations, and sets a new pool.
  virtual void restart(const Lesson& lesson, std::span<const std::uint64_t> under_way,
                       std::span<const std::uint64_t> pool, base::Random& random) = 0;
  /// Adds candidates to the pool.
  virtual void extend(std::span<const std::uint64_t> candidates) = 0;
  /// Marks a configuration as outstanding: its expected result needs no further proposal.
  virtual void expect(std::uint64_t index) = 0;
  /// Learns a lesson with more results than the last one.
  virtual void update(const Lesson& lesson, base::Random& random) = 0;
  virtual Prediction predict(std::size_t candidate) const = 0;
};

/// A Gaussian process over the plain features. It learns its lengths from each lesson that it restarts with.
std::unique_ptr<Model> make_process_model(const space::Space& space, const Features& features);
/// Extremely randomised trees over all features.
std::unique_ptr<Model> make_forest_model(const space::Space& space, const Features& features);

}  // namespace xtune::search
