// Hypotheses about the sources of a guided search, and their probability given the results.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <optional>
#include <vector>

#include "core/search/place.hpp"

namespace xtune::search {

/// A normal prior, in logarithms of time: this device differs from one source by an unknown factor, an offset for each
/// implementation, and a smooth difference. Without a source all configurations are equal a priori.
struct Belief {
  std::optional<std::size_t> source;
  double way_deviation;     ///< of an implementation's offset
  double smooth_deviation;  ///< of the smooth difference
  double spread_deviation;  ///< of the relative scale of differences here and at the source

  double score(const Place& place) const { return source ? (*place.scores)[*source] : 0; }
  double prior_variance(double score) const;
};

/// The belief that no source is similar to this device, then for each source that it is loosely similar, and closely.
std::vector<Belief> beliefs_in(std::size_t sources);

/// The covariance of two sets of places under any belief.
class Covariance {
 public:
  Covariance(const std::vector<Place>& rows, const std::vector<const Place*>& columns);
  /// Given the places' scores under the belief.
  Eigen::MatrixXd under(const Belief& belief, const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const;

 private:
  Eigen::MatrixXd same_way_, likeness_;
};

/// A belief after the results. The first places have values; the others are outstanding, which reduces the variance but
/// does not change the mean.
class BeliefPosterior {
 public:
  BeliefPosterior(const Belief& belief, const std::vector<Place>& places, const std::vector<double>& values,
                  const Covariance& within);
  double log_evidence() const noexcept { return log_evidence_; }
  /// Adds to `promise`, which has a logarithm for each of `open`, the expected improvement upon 0 times the evidence.
  /// across: of the constructor's places and `open`.
  void add_promise(const Covariance& across, const std::vector<const Place*>& open, Eigen::VectorXd& promise) const;

 private:
  Belief belief_;
  Eigen::VectorXd scores_;
  Eigen::LLT<Eigen::MatrixXd> all_, answered_;  // of the covariances of all places, and of those with values
  Eigen::VectorXd surprise_;                    // whitened values
  double log_evidence_ = 0;
};

}  // namespace xtune::search
