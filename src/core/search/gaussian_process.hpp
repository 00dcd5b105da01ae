// Gaussian process regression over a pool of candidates, updated a point at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace xtune::search {

/// Matern 5/2 kernel with a length for each feature (Rasmussen and Williams, "Gaussian Processes for Machine Learning",
/// 2006, ch. 2, 4 and 5). Keeps the posterior mean and variance for a fixed pool of candidates; each further point
/// costs points x candidates multiplications. All values in units of the targets.
class GaussianProcess {
 public:
  explicit GaussianProcess(std::size_t features);

  /// Chooses lengths and noise by their posterior probability, starting from the current ones. points: `features`
  /// values for each.
  void learn_lengths(std::span<const float> points, std::span<const float> targets, int steps);

  /// Removes all points and sets a new pool.
  void set_pool(std::span<const float> candidates);
  std::size_t pool_size() const noexcept { return pool_size_; }
  void add_candidates(std::span<const float> candidates);

  /// Adds a point whose target is still unknown; returns its number.
  std::size_t add_point(const float* point);
  std::size_t points() const noexcept { return points_; }

  /// Posterior mean of the pool for these targets (one for each point) with a prior mean of zero. NaN: use the
  /// prediction of the earlier points, so that the point does not change the mean.
  std::vector<float> mean(std::span<const float> targets) const;
  /// Posterior variance of the pool, relative to the prior's.
  const std::vector<float>& variance() const noexcept { return variance_; }
  /// The prior variance that fits the targets best.
  double signal_variance(std::span<const float> targets) const;

  /// The inverse of the length of each feature.
  std::vector<double> scales() const;
  /// Variance of the noise, relative to the prior's.
  double noise() const noexcept;

 private:
  std::vector<float> weights(std::span<const float> targets) const;
  std::vector<float> project(const float* scaled_point) const;
  std::vector<float> scaled(std::span<const float> points) const;
  void reserve_points(std::size_t count);
  void reserve_pool(std::size_t count);

  std::size_t features_;
  std::vector<double> log_scales_;  // natural logarithms of the inverse lengths, then of the noise variance
  std::size_t points_ = 0, point_room_ = 0;
  std::size_t pool_size_ = 0, pool_room_ = 0;
  std::vector<float> points_scaled_;  // point by point
  std::vector<float> pool_scaled_;    // feature by feature, pool_room_ each
  std::vector<float> factor_;         // lower Cholesky factor, row by row, point_room_ each
  std::vector<float> projected_;      // factor^-1 x kernel(points, pool), row by row, pool_room_ each
  std::vector<float> variance_;
};

}  // namespace xtune::search
