// What a search by model asks of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "core/search/features.hpp"
#include "core/search/lesson.hpp"

namespace xtune::search {

/// In units of the lesson's targets.
struct Prediction {
  float mean = 0;
  float deviation = 1;
  float failure = 0;  ///< probability
};

/// Predicts targets for a pool of candidates, numbered in the order in which they are given.
class Model {
 public:
  virtual ~Model() = default;
  /// Forgets everything; learns the lesson and what is under way; takes a new pool.
  virtual void restart(const Lesson& lesson, std::span<const std::uint64_t> under_way,
                       std::span<const std::uint64_t> pool, base::Random& random) = 0;
  /// More candidates.
  virtual void extend(std::span<const std::uint64_t> candidates) = 0;
  /// Is under way from now on: what it will tell is not worth another proposal.
  virtual void expect(std::uint64_t index) = 0;
  /// More results than at the last lesson.
  virtual void update(const Lesson& lesson, base::Random& random) = 0;
  virtual Prediction predict(std::size_t candidate) const = 0;
};

/// A Gaussian process over the plain features. It learns its lengths anew from each lesson that it restarts with.
std::unique_ptr<Model> make_process_model(const space::Space& space, const Features& features);
/// Extremely randomised trees over all features.
std::unique_ptr<Model> make_forest_model(const space::Space& space, const Features& features);

}  // namespace xtune::search
