// Gaussian process regression over a pool of candidates, updated a point at a time.
#pragma once

#include <Eigen/Core>
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
  std::size_t pool_size() const noexcept { return variance_.size(); }
  void add_candidates(std::span<const float> candidates);

  /// Adds a point whose target is still unknown; returns its number.
  std::size_t add_point(const float* point);
  std::size_t points() const noexcept { return static_cast<std::size_t>(points_); }

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
  using Index = Eigen::Index;
  using Row = Eigen::RowVectorXf;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  Eigen::VectorXf weights(std::span<const float> targets) const;
  Eigen::VectorXf project(const Row& scaled_point) const;
  Row scaled(const float* point) const;
  void reserve(Index points, Index pool);
  Index pool() const noexcept { return static_cast<Index>(variance_.size()); }

  Index features_;
  std::vector<double> log_scales_;  // natural logarithms of the inverse lengths, then of the noise variance
  Index points_ = 0;
  // With room for more points and candidates:
  Matrix points_scaled_;  // a row for each point
  Matrix pool_scaled_;    // a column for each candidate
  Matrix factor_;         // lower Cholesky factor
  Matrix projected_;      // factor^-1 x kernel(points, pool)
  std::vector<float> variance_;
};

}  // namespace xtune::search
