// Normal equations that grow with each example, and are solved again after a quarter more examples.
#include "core/run/compile_times.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

namespace xtune::run {
namespace {

constexpr std::size_t max_features = 128;
constexpr double ridge = 0.1;

std::vector<double> row_of(const search::Features& features, std::span<const std::uint32_t> value_indices) {
  std::vector<float> plain(features.plain_count());
  features.plain(value_indices, plain.data());
  std::vector<double> row(plain.begin(), plain.end());
  row.push_back(1);
  return row;
}

}  // namespace

void CompileTimes::learn(std::span<const std::uint32_t> value_indices, double cpu_s) {
  if (!(cpu_s > 0) || !std::isfinite(cpu_s) || features_.plain_count() > max_features) return;
  const std::vector<double> row = row_of(features_, value_indices);
  products_.resize(row.size() * row.size());
  right_.resize(row.size());
  const double value = std::log(cpu_s);
  for (std::size_t i = 0; i < row.size(); ++i) {
    right_[i] += row[i] * value;
    for (std::size_t j = 0; j < row.size(); ++j) products_[i * row.size() + j] += row[i] * row[j];
  }
  ++examples_;
}

std::optional<double> CompileTimes::expected_s(std::span<const std::uint32_t> value_indices) {
  if (examples_ < min_examples) return std::nullopt;
  if (fitted_ == 0 || 4 * examples_ >= 5 * fitted_) fit();
  const std::vector<double> row = row_of(features_, value_indices);
  double value = 0;
  for (std::size_t i = 0; i < row.size(); ++i) value += row[i] * weights_[i];
  return std::exp(value);
}

void CompileTimes::fit() {
  const auto size = static_cast<Eigen::Index>(right_.size());
  Eigen::MatrixXd products = Eigen::Map<const Eigen::MatrixXd>(products_.data(), size, size);
  products.diagonal().head(size - 1).array() += ridge;  // without the constant
  weights_.resize(right_.size());
  Eigen::Map<Eigen::VectorXd>(weights_.data(), size) =
      products.llt().solve(Eigen::Map<const Eigen::VectorXd>(right_.data(), size));
  fitted_ = examples_;
}

}  // namespace xtune::run
