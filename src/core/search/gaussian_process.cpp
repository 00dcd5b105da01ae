// A Cholesky factor that grows by a row for each point, and its products with the pool, which grow in the same way.
#include "core/search/gaussian_process.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace xtune::search {

namespace {

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>>;
using Row = Eigen::Map<Eigen::RowVectorXf>;
using ConstRow = Eigen::Map<const Eigen::RowVectorXf>;

const float root5 = std::sqrt(5.0f);

}  // namespace

std::vector<float> GaussianProcess::scaled(std::span<const float> points) const {
  std::vector<float> scales(features_);
  for (std::size_t k = 0; k < features_; ++k) scales[k] = static_cast<float>(std::exp(log_scales_[k]));
  std::vector<float> result(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) result[i] = points[i] * scales[i % features_];
  return result;
}

void GaussianProcess::kernel_row(const float* scaled_point, std::span<const float> pool, std::size_t count,
                                 float* row) const {
  Row result(row, static_cast<Eigen::Index>(count));
  result.setZero();
  for (std::size_t k = 0; k < features_; ++k) {
    ConstRow feature(pool.data() + k * pool_room_, static_cast<Eigen::Index>(count));
    result.array() += (feature.array() - scaled_point[k]).square();
  }
  result = result.cwiseSqrt() * root5;
  result.array() = (1 + result.array() + result.array().square() * (1.0f / 3)) * (-result.array()).exp();
}

void GaussianProcess::reserve_points(std::size_t count) {
  if (count <= point_room_) return;
  const std::size_t room = std::max(count, point_room_ * 2 + 32);
  std::vector<float> grown(room * room, 0);
  for (std::size_t i = 0; i < points_; ++i)
    std::copy_n(factor_.begin() + static_cast<std::ptrdiff_t>(i * point_room_), points_,
                grown.begin() + static_cast<std::ptrdiff_t>(i * room));
  factor_ = std::move(grown);
  point_room_ = room;
  projected_.resize(point_room_ * pool_room_);
}

void GaussianProcess::reserve_pool(std::size_t count) {
  if (count <= pool_room_) return;
  const std::size_t room = std::max(count, pool_room_ + pool_room_ / 2);
  std::vector<float> pool(features_ * room, 0), projected(point_room_ * room, 0);
  for (std::size_t k = 0; k < features_; ++k)
    std::copy_n(pool_scaled_.begin() + static_cast<std::ptrdiff_t>(k * pool_room_), pool_size_,
                pool.begin() + static_cast<std::ptrdiff_t>(k * room));
  for (std::size_t i = 0; i < points_; ++i)
    std::copy_n(projected_.begin() + static_cast<std::ptrdiff_t>(i * pool_room_), pool_size_,
                projected.begin() + static_cast<std::ptrdiff_t>(i * room));
  pool_scaled_ = std::move(pool);
  projected_ = std::move(projected);
  pool_room_ = room;
}

void GaussianProcess::set_pool(std::span<const float> candidates) {
  points_ = 0;
  points_scaled_.clear();
  pool_size_ = 0;
  variance_.clear();
  add_candidates(candidates);
}

void GaussianProcess::add_candidates(std::span<const float> candidates) {
  const std::vector<float> added = scaled(candidates);
  const std::size_t count = features_ == 0 ? 0 : added.size() / features_;
  reserve_pool(pool_size_ + count);
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t k = 0; k < features_; ++k)
      pool_scaled_[k * pool_room_ + pool_size_ + j] = added[j * features_ + k];
  variance_.resize(pool_size_ + count, 1);
  for (std::size_t j = 0; j < count && points_ > 0; ++j) {
    const std::vector<float> column = project(added.data() + j * features_);
    float left = 1;
    for (std::size_t i = 0; i < points_; ++i) {
      projected_[i * pool_room_ + pool_size_ + j] = column[i];
      left -= column[i] * column[i];
    }
    variance_[pool_size_ + j] = std::max(left, 1e-6f);
  }
  pool_size_ += count;
}

// factor^-1 x kernel(points, point)
std::vector<float> GaussianProcess::project(const float* scaled_point) const {
  std::vector<float> column(points_);
  for (std::size_t i = 0; i < points_; ++i) {
    float r2 = 0;
    for (std::size_t k = 0; k < features_; ++k) {
      const float difference = points_scaled_[i * features_ + k] - scaled_point[k];
      r2 += difference * difference;
    }
    const float r = root5 * std::sqrt(r2);
    column[i] = (1 + r + r * r / 3) * std::exp(-r);
  }
  Eigen::Map<Eigen::VectorXf> values(column.data(), static_cast<Eigen::Index>(points_));
  Strided(factor_.data(), static_cast<Eigen::Index>(points_), static_cast<Eigen::Index>(points_),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(point_room_)))
      .triangularView<Eigen::Lower>()
      .solveInPlace(values);
  return column;
}

std::size_t GaussianProcess::add_point(const float* point) {
  reserve_points(points_ + 1);
  const std::vector<float> own = scaled({point, features_});
  const std::vector<float> column = project(own.data());
  float left = 1 + static_cast<float>(noise());
  for (const float value : column) left -= value * value;
  const float diagonal = std::sqrt(std::max(left, 1e-5f));
  std::copy(column.begin(), column.end(), factor_.begin() + static_cast<std::ptrdiff_t>(points_ * point_room_));
  factor_[points_ * point_room_ + points_] = diagonal;
  points_scaled_.insert(points_scaled_.end(), own.begin(), own.end());
  float* target = projected_.data() + points_ * pool_room_;
  kernel_row(own.data(), pool_scaled_, pool_size_, target);
  Row row(target, static_cast<Eigen::Index>(pool_size_));
  if (points_ > 0)
    row.noalias() -=
        ConstRow(column.data(), static_cast<Eigen::Index>(points_)) *
        Strided(projected_.data(), static_cast<Eigen::Index>(points_), static_cast<Eigen::Index>(pool_size_),
                Eigen::OuterStride<>(static_cast<Eigen::Index>(pool_room_)));
  row /= diagonal;
  Row variance(variance_.data(), static_cast<Eigen::Index>(pool_size_));
  variance.array() = (variance.array() - row.array().square()).max(1e-6f);
  return points_++;
}

std::vector<float> GaussianProcess::weights(std::span<const float> targets) const {
  std::vector<float> result(points_);
  for (std::size_t i = 0; i < points_; ++i) {
    if (std::isnan(targets[i])) continue;
    const ConstRow row(factor_.data() + i * point_room_, static_cast<Eigen::Index>(i));
    const float known = i == 0 ? 0 : row.dot(ConstRow(result.data(), static_cast<Eigen::Index>(i)));
    result[i] = (targets[i] - known) / factor_[i * point_room_ + i];
  }
  return result;
}

std::vector<float> GaussianProcess::mean(std::span<const float> targets) const {
  std::vector<float> result(pool_size_, 0);
  const std::vector<float> w = weights(targets);
  if (points_ > 0)
    Row(result.data(), static_cast<Eigen::Index>(pool_size_)).noalias() =
        ConstRow(w.data(), static_cast<Eigen::Index>(points_)) *
        Strided(projected_.data(), static_cast<Eigen::Index>(points_), static_cast<Eigen::Index>(pool_size_),
                Eigen::OuterStride<>(static_cast<Eigen::Index>(pool_room_)));
  return result;
}

double GaussianProcess::signal_variance(std::span<const float> targets) const {
  const std::vector<float> w = weights(targets);
  double sum = 0, known = 0;
  for (std::size_t i = 0; i < points_; ++i) {
    if (std::isnan(targets[i])) continue;
    sum += double{w[i]} * w[i];
    ++known;
  }
  return known > 0 ? std::max(1e-8, sum / known) : 1;
}

}  // namespace xtune::search
