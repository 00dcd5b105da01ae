// Where to begin by what is known elsewhere, and how much of it to believe.
#include "core/search/guidance.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace xtune {

namespace {

constexpr double weight_deviation = 0.5;  // of a source's weight around zero, before there are results
constexpr double value_deviation = 0.2;   // of results around what good sources say

bool chooses_way(const Parameter& parameter) {
  const auto& values = parameter.values;
  if (values.size() < 2 || values.size() > most_switch_values) return false;
  return values.size() == 2 || std::holds_alternative<std::string>(values.front()) ||
         std::find(values.begin(), values.end(), Value(std::int64_t{0})) != values.end();
}

}  // namespace

Guidance::Guidance(const Space& space, const Features& features, std::span<const Source> sources, Random& random)
    : space_(space) {
  for (const Source& source : sources) {
    Guide guide(space, features, source, random);
    if (guide.usable()) guides_.push_back(std::move(guide));
  }
  weights_.assign(guides_.size(), 0);
  for (const Parameter& parameter : space.parameters()) is_switch_.push_back(chooses_way(parameter));
}

const std::vector<double>& Guidance::scores(std::uint64_t index) const {
  std::vector<double>& scores = known_scores_[index];
  if (scores.empty())
    for (const Guide& guide : guides_) scores.push_back(guide.score(index));
  return scores;
}

double Guidance::expected(std::uint64_t index) const {
  if (guides_.empty()) return 0;
  const std::vector<double>& own = scores(index);
  double sum = 0;
  for (std::size_t i = 0; i < own.size(); ++i) sum += weights_[i] * own[i];
  return sum;
}

void Guidance::weigh(std::span<const std::uint64_t> indices, std::span<const double> values) {
  if (guides_.empty()) return;
  const auto width = static_cast<Eigen::Index>(guides_.size());
  // The last column is the constant, free of any prior belief.
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(width + 1, width + 1);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(width + 1);
  Eigen::VectorXd row(width + 1);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    row.head(width) = Eigen::Map<const Eigen::VectorXd>(scores(indices[i]).data(), width);
    row[width] = 1;
    normal += row * row.transpose();
    right += row * values[i];
  }
  normal.diagonal().head(width).array() += std::pow(value_deviation / weight_deviation, 2);
  normal(width, width) += 1e-9;
  const Eigen::VectorXd solution = normal.ldlt().solve(right);
  // A source that is right where it says the opposite is right by chance.
  for (std::size_t g = 0; g < guides_.size(); ++g)
    weights_[g] = std::clamp(solution[static_cast<Eigen::Index>(g)], 0.0, 1.5);
}

}  // namespace xtune
