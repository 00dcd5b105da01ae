// Lengths and noise of a Gaussian process by gradient steps that use only signs.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/search/gaussian_process.hpp"

namespace xtune::search {

namespace {

// Lengths of half a feature's range times the root of the number of features keep distances similar for any number of
// features (Hvarfner, Hellsten and Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions", 2024).
constexpr double usual_length = 0.5;
constexpr double usual_noise = 0.005;
constexpr double deviation = 1;  // of the logarithms of lengths and noise around their usual values
constexpr double min_log_scale = -6, max_log_scale = 4;
const double min_log_noise = std::log(1e-4);

// The posterior of the hyper-parameters, up to a constant: a likelihood with the best signal variance, and a normal
// prior on each logarithm.
struct Posterior {
  double value = -std::numeric_limits<double>::infinity();
  Eigen::VectorXd gradient;
};

Posterior posterior(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& logs,
                    const Eigen::VectorXd& usual) {
  const Eigen::Index n = x.rows();
  const Eigen::Index d = x.cols();
  const double noise = std::exp(logs[d]);
  const Eigen::MatrixXd scaled = x * logs.head(d).array().exp().matrix().asDiagonal();
  const Eigen::VectorXd norms = scaled.rowwise().squaredNorm();
  Eigen::MatrixXd r = (-2 * scaled * scaled.transpose()).colwise() + norms;
  r.rowwise() += norms.transpose();
  r = (5 * r.array().max(1e-12)).sqrt().matrix();
  const Eigen::MatrixXd decay = (-r.array()).exp().matrix();
  Eigen::MatrixXd kernel = ((1 + r.array() + r.array().square() / 3) * decay.array()).matrix();
  kernel.diagonal().array() = 1 + noise;
  const Eigen::LLT<Eigen::MatrixXd> factor(kernel);
  Posterior result;
  if (factor.info() != Eigen::Success) return result;
  const Eigen::VectorXd alpha = factor.solve(y);
  const double signal = std::max(1e-9, y.dot(alpha) / static_cast<double>(n));
  result.value = -0.5 * static_cast<double>(n) * std::log(signal) - factor.matrixLLT().diagonal().array().log().sum() -
                 0.5 * (logs - usual).squaredNorm() / (deviation * deviation);
  Eigen::MatrixXd m = alpha * alpha.transpose() / signal - factor.solve(Eigen::MatrixXd::Identity(n, n));
  result.gradient = -(logs - usual) / (deviation * deviation);
  result.gradient[d] += 0.5 * noise * m.trace();
  m.array() *= (1 + r.array()) * decay.array();
  const Eigen::VectorXd sums = m.rowwise().sum();
  const Eigen::MatrixXd products = m * scaled;
  for (Eigen::Index k = 0; k < d; ++k)
    result.gradient[k] -= 5.0 / 3.0 * (scaled.col(k).cwiseAbs2().dot(sums) - scaled.col(k).dot(products.col(k)));
  return result;
}

}  // namespace

GaussianProcess::GaussianProcess(std::size_t features)
    : features_(features),
      log_scales_(features + 1,
                  -std::log(usual_length) - 0.5 * std::log(static_cast<double>(std::max<std::size_t>(1, features)))) {
  log_scales_.back() = std::log(usual_noise);
}

double GaussianProcess::noise() const noexcept { return std::exp(log_scales_.back()); }

std::vector<double> GaussianProcess::scales() const {
  std::vector<double> scales;
  for (std::size_t k = 0; k < features_; ++k) scales.push_back(std::exp(log_scales_[k]));
  return scales;
}

// Rprop (Riedmiller and Braun, 1993): each logarithm has its own step, which grows while its gradient keeps its sign.
void GaussianProcess::learn_lengths(std::span<const float> points, std::span<const float> targets, int steps) {
  if (targets.size() < 3 || features_ == 0) return;
  const auto n = static_cast<Eigen::Index>(targets.size());
  const auto d = static_cast<Eigen::Index>(features_);
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd x = Eigen::Map<const Rows>(points.data(), n, d).cast<double>();
  const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(targets.data(), n).cast<double>();
  const GaussianProcess fresh(features_);
  const Eigen::VectorXd usual = Eigen::Map<const Eigen::VectorXd>(fresh.log_scales_.data(), d + 1);
  Eigen::VectorXd logs = Eigen::Map<const Eigen::VectorXd>(log_scales_.data(), d + 1);
  Eigen::VectorXd best = logs;
  Eigen::VectorXd step = Eigen::VectorXd::Constant(d + 1, 0.2);
  Eigen::VectorXd previous = Eigen::VectorXd::Zero(d + 1);
  double best_value = -std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration <= steps; ++iteration) {
    const Posterior here = posterior(x, y, logs, usual);
    if (!std::isfinite(here.value)) break;
    if (here.value > best_value) {
      best_value = here.value;
      best = logs;
    }
    for (Eigen::Index k = 0; k <= d; ++k) {
      const double gradient = here.gradient[k];
      if (gradient * previous[k] > 0) step[k] = std::min(0.8, step[k] * 1.3);
      if (gradient * previous[k] < 0) step[k] *= 0.5;
      previous[k] = gradient;
      logs[k] += gradient > 0 ? step[k] : gradient < 0 ? -step[k] : 0;
      logs[k] = k < d ? std::clamp(logs[k], min_log_scale, max_log_scale) : std::clamp(logs[k], min_log_noise, 0.0);
    }
  }
  std::copy(best.begin(), best.end(), log_scales_.begin());
}

}  // namespace xtune::search
