// Ridge regression by normal equations.
#include "core/search/compile_times.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace xtune::search {
namespace {

constexpr std::size_t max_features = 128;
constexpr double ridge = 0.1;
constexpr double min_s = 0.05;  // failures at once would bend the regression; their order does not matter

// Deviations of the logarithm: long compiles end last, so that a search has seen too few of them.
constexpr double doubt = 0.3;
constexpr double weight_of_delay = 4;        // a search that has converged expects hardly any improvement elsewhere
constexpr double longest = 20;               // times the mean: what hardly any compile takes
constexpr double left_of_outstanding = 0.5;  // of the time of a compile that may have begun, on average

std::vector<double> row_of(const Features& features, std::span<const std::uint32_t> value_indices) {
  std::vector<float> plain(features.plain_count());
  features.plain(value_indices, plain.data());
  std::vector<double> row(plain.begin(), plain.end());
  const std::size_t count = plain.size();
  if (count * (count + 3) / 2 < max_features)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j <= i; ++j) row.push_back(row[i] * row[j]);
  row.push_back(1);
  return row;
}

}  // namespace

void CompileTimes::learn(std::span<const std::uint32_t> value_indices, double cpu_s) {
  if (!(cpu_s > 0) || !std::isfinite(cpu_s) || features_.plain_count() > max_features) return;
  const std::vector<double> row = row_of(features_, value_indices);
  products_.resize(row.size() * row.size());
  right_.resize(row.size());
  const double value = std::log(std::max(cpu_s, min_s));
  for (std::size_t i = 0; i < row.size(); ++i) {
    right_[i] += row[i] * value;
    for (std::size_t j = 0; j < row.size(); ++j) products_[i * row.size() + j] += row[i] * row[j];
  }
  ++examples_;
}

std::optional<double> CompileTimes::expected_s(std::span<const std::uint32_t> value_indices, bool cautious) {
  if (examples_ < min_examples) return std::nullopt;
  if (fitted_ == 0 || 4 * examples_ >= 5 * fitted_) fit();
  const std::vector<double> row = row_of(features_, value_indices);
  const auto size = static_cast<Eigen::Index>(row.size());
  const Eigen::Map<const Eigen::VectorXd> features(row.data(), size);
  double value = features.dot(Eigen::Map<const Eigen::VectorXd>(weights_.data(), size));
  if (cautious) {
    const Eigen::Map<const Eigen::MatrixXd> factor(factor_.data(), size, size);
    value += doubt * factor.triangularView<Eigen::Lower>().solve(features).norm();
  }
  return std::exp(value);
}

void CompileTimes::fit() {
  const auto size = static_cast<Eigen::Index>(right_.size());
  Eigen::MatrixXd products = Eigen::Map<const Eigen::MatrixXd>(products_.data(), size, size);
  products.diagonal().head(size - 1).array() += ridge;  // without the constant
  const Eigen::LLT<Eigen::MatrixXd> factored(products);
  weights_.resize(right_.size()), factor_.resize(products_.size());
  Eigen::Map<Eigen::VectorXd>(weights_.data(), size) =
      factored.solve(Eigen::Map<const Eigen::VectorXd>(right_.data(), size));
  Eigen::Map<Eigen::MatrixXd>(factor_.data(), size, size) = factored.matrixL();
  fitted_ = examples_;
}

void CompileDelays::learn(std::uint64_t index, double compile_s) {
  if (!(compile_s > 0) || compilers_ == 0) return;
  times_.learn(space_.value_indices(index), compile_s);
  sum_s_ += compile_s, ++compiled_;
}

void CompileDelays::expect(std::uint64_t left, std::span<const std::uint64_t> outstanding) {
  rest_s_ = HUGE_VAL;
  if (compiled_ < CompileTimes::min_examples) return;
  const double mean_s = sum_s_ / compiled_, left_s = static_cast<double>(left) * mean_s / compilers_;
  if (left_s >= longest * mean_s) return;
  double outstanding_s = 0;
  for (const std::uint64_t index : outstanding) outstanding_s += expected_s(index).value_or(mean_s);
  rest_s_ = left_s + left_of_outstanding * outstanding_s / compilers_;
}

double CompileDelays::logarithm(std::uint64_t index) {
  if (std::isinf(rest_s_)) return 0;
  const double late_s = expected_s(index).value_or(0) - rest_s_;
  return late_s > 0 ? weight_of_delay * std::log1p(compilers_ * late_s * compiled_ / sum_s_) : 0;
}

}  // namespace xtune::search
