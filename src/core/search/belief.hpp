// What a search may believe of its sources, and how probable the results make each belief.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <optional>
#include <vector>

#include "core/search/place.hpp"

namespace xtune::search {

/// Normal a priori, in logarithms of time: this device differs from one source by an unknown factor, a surplus for each
/// way through the kernel and a smooth difference. Without a source all places are alike a priori.
struct Belief {
  std::optional<std::size_t> source;
  double way_deviation;     ///< of a way's surplus
  double smooth_deviation;  ///< of the smooth difference
  double spread_deviation;  ///< of how much larger differences are here than there, relative

  double score(const Place& place) const { return source ? (*place.scores)[*source] : 0; }
  double prior_variance(double score) const;
};

/// That no source is like this device, then for each source that it is like it loosely, and that it is closely.
std::vector<Belief> beliefs_in(std::size_t sources);

/// What two sets of places have in common under any belief.
class Covariance {
 public:
  Covariance(const std::vector<Place>& rows, const std::vector<const Place*>& columns);
  /// Given the places' scores under the belief.
  Eigen::MatrixXd under(const Belief& belief, const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const;

 private:
  Eigen::MatrixXd same_way_, likeness_;
};

/// A belief after the results. The first places have values; the others are under way, which makes a belief surer, not
/// different.
class BeliefPosterior {
 public:
  BeliefPosterior(const Belief& belief, const std::vector<Place>& places, const std::vector<double>& values,
                  const Covariance& within);
  double log_evidence() const noexcept { return log_evidence_; }
  /// Adds to `promise`, a logarithm for each of `open`, the expected improvement upon 0 times the evidence. across: of
  /// the constructor's places and `open`.
  void add_promise(const Covariance& across, const std::vector<const Place*>& open, Eigen::VectorXd& promise) const;

 private:
  Belief belief_;
  Eigen::VectorXd scores_;
  Eigen::LLT<Eigen::MatrixXd> all_, answered_;  // of the covariances of all places, and of those with values
  Eigen::VectorXd surprise_;                    // whitened: of the values
  double log_evidence_ = 0;
};

}  // namespace xtune::search
