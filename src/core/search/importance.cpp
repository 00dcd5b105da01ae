// Variances of a forest's predictions, by parameter and by pair.
#include "core/search/importance.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/search/extra_trees.hpp"
#include "core/search/features.hpp"

namespace xtune::search {
namespace {

constexpr std::size_t min_measured = 8;
constexpr std::size_t max_learnt = 2000;  // measurements for training the forest
constexpr std::size_t background = 128;   // configurations over which a partial dependence is averaged
constexpr std::size_t paired_parameters = 6;
constexpr std::size_t max_values = 16;  // of a parameter: further ones are ignored

using Indices = std::vector<std::uint32_t>;

/// A value of a parameter, and the fraction of measurements in which it occurs.
struct Level {
  std::uint32_t value = 0;
  double weight = 0;
};

class VarianceSplit {
 public:
  VarianceSplit(const space::Space& space, std::span<const MeasuredIndex> measured) : features_(space) {
    const std::size_t every = (measured.size() + max_learnt - 1) / max_learnt;
    for (std::size_t i = 0; i < measured.size(); i += every) {
      rows_.push_back(space.value_indices(measured[i].index));
      targets_.push_back(static_cast<float>(std::log(measured[i].time)));
    }
    fit();
    find_levels(space.parameters().size());
    draw_background();
  }

  double total() const { return total_; }
  const std::vector<Level>& levels(std::size_t parameter) const { return levels_[parameter]; }

  /// The variance of the mean prediction over the parameter's values.
  double alone(std::size_t parameter) {
    double variance = 0;
    for (const Level& level : levels_[parameter]) {
      const double mean = mean_with({{parameter, level.value}});
      variance += level.weight * (mean - mean_) * (mean - mean_);
    }
    return variance;
  }

  double together(std::size_t first, std::size_t second) {
    double variance = 0;
    for (const Level& a : levels_[first])
      for (const Level& b : levels_[second]) {
        const double mean = mean_with({{first, a.value}, {second, b.value}});
        variance += a.weight * b.weight * (mean - mean_) * (mean - mean_);
      }
    return variance;
  }

 private:
  void fit() {
    const std::size_t width = features_.plain_count();
    std::vector<float> points(rows_.size() * width);
    for (std::size_t i = 0; i < rows_.size(); ++i) features_.plain(rows_[i], points.data() + i * width);
    base::Random random(1);
    if (width > 0) forest_.fit(points, targets_, width, {}, random);
    point_.resize(width);
  }

  void find_levels(std::size_t parameters) {
    levels_.resize(parameters);
    for (std::size_t parameter = 0; parameter < parameters; ++parameter) {
      std::map<std::uint32_t, std::size_t> counts;
      for (const Indices& row : rows_) ++counts[row[parameter]];
      const std::size_t every = (counts.size() + max_values - 1) / max_values;
      double weights = 0;
      std::size_t number = 0;
      for (const auto& [value, count] : counts)
        if (number++ % every == 0) {
          levels_[parameter].push_back({value, static_cast<double>(count)});
          weights += static_cast<double>(count);
        }
      for (Level& level : levels_[parameter]) level.weight /= weights;
    }
  }

  // Each parameter's value is drawn independently.
  void draw_background() {
    base::Random random(2);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < background; ++i) {
      Indices row;
      for (const auto& levels : levels_) {
        double left = random.uniform();
        std::size_t at = 0;
        while (at + 1 < levels.size() && left >= levels[at].weight) left -= levels[at++].weight;
        row.push_back(levels[at].value);
      }
      const double value = predicted(row);
      sum += value, squares += value * value;
      drawn_.push_back(std::move(row));
    }
    mean_ = sum / background;
    total_ = std::max(0.0, squares / background - mean_ * mean_);
  }

  double predicted(const Indices& row) {
    features_.plain(row, point_.data());
    return static_cast<double>(forest_.predict(point_.data()).mean);
  }

  double mean_with(std::initializer_list<std::pair<std::size_t, std::uint32_t>> fixed) {
    double sum = 0;
    Indices row;
    for (const Indices& one : drawn_) {
      row = one;
      for (const auto& [parameter, value] : fixed) row[parameter] = value;
      sum += predicted(row);
    }
    return sum / static_cast<double>(drawn_.size());
  }

  const Features features_;
  std::vector<Indices> rows_, drawn_;
  std::vector<float> targets_, point_;
  ExtraTrees forest_;
  std::vector<std::vector<Level>> levels_;
  double mean_ = 0, total_ = 0;
};

}  // namespace

Importance importance_of(const space::Space& space, std::span<const MeasuredIndex> measured) {
  Importance importance;
  if (measured.size() < min_measured) return importance;
  VarianceSplit split(space, measured);
  if (!(split.total() > 1e-8)) return importance;
  std::vector<double> alone(space.parameters().size());
  for (std::size_t parameter = 0; parameter < alone.size(); ++parameter) {
    if (split.levels(parameter).size() < 2) continue;
    alone[parameter] = split.alone(parameter) / split.total();
    importance.parameters.push_back({parameter, std::min(1.0, alone[parameter])});
  }
  std::stable_sort(importance.parameters.begin(), importance.parameters.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  const std::size_t paired = std::min(paired_parameters, importance.parameters.size());
  for (std::size_t i = 0; i < paired; ++i)
    for (std::size_t j = i + 1; j < paired; ++j) {
      const std::size_t first = importance.parameters[i].parameter, second = importance.parameters[j].parameter;
      const double both = split.together(first, second) / split.total() - alone[first] - alone[second];
      importance.pairs.push_back({first, second, std::clamp(both, 0.0, 1.0)});
    }
  std::stable_sort(importance.pairs.begin(), importance.pairs.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return importance;
}

}  // namespace xtune::search
