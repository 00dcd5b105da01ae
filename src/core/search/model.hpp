// The interface of models for a model-based search.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"
#include "core/search/lesson.hpp"

namespace xtune::search {

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
