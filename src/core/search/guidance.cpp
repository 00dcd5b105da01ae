// Where to begin by what is known elsewhere, and how much of it to believe.
#include "core/search/guidance.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/search/moves.hpp"

namespace xtune {

namespace {

constexpr double weight_deviation = 0.5;  // of a source's weight around zero, before there are results
constexpr double value_deviation = 0.2;   // of results around what good sources say
constexpr std::size_t looked_at = 300;    // of each source's best, where all are weighed together

// Two values, a few words, or a few numbers with zero for "off".
bool is_switch(const Parameter& parameter) {
  const auto& values = parameter.values;
  if (values.size() < 2 || values.size() > 4) return false;
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
}

const std::vector<double>& Guidance::scores(std::uint64_t index) const {
  std::vector<double>& scores = known_scores_[index];
  if (scores.empty())
    for (const Guide& guide : guides_) scores.push_back(guide.score(index));
  return scores;
}

double Guidance::joint_score(std::uint64_t index) const {
  double sum = 0;
  for (const double score : scores(index)) sum += score;
  return sum;
}

double Guidance::expected(std::uint64_t index) const {
  if (guides_.empty()) return 0;
  const std::vector<double>& own = scores(index);
  double sum = 0;
  for (std::size_t i = 0; i < own.size(); ++i) sum += weights_[i] * own[i];
  return sum;
}

// The best by one source, or by all together where `guide` is null, and the best for each value of each switch.
std::vector<std::uint64_t> Guidance::best_of_switches(const Guide* guide) const {
  using Scored = std::pair<double, std::uint64_t>;
  constexpr Scored none{std::numeric_limits<double>::infinity(), 0};
  std::map<std::pair<std::size_t, std::uint32_t>, Scored> best_with;  // by parameter and value
  Scored best = none;
  for (const Guide& measured : guides_) {
    if (guide != nullptr && guide != &measured) continue;
    for (const std::uint64_t index : measured.order()) {
      const Scored own{guide != nullptr ? guide->score(index) : joint_score(index), index};
      best = std::min(best, own);
      const Digits digits = space_.value_indices(index);
      for (std::size_t i = 0; i < digits.size(); ++i) {
        if (!is_switch(space_.parameters()[i])) continue;
        Scored& place = best_with.try_emplace({i, digits[i]}, none).first->second;
        place = std::min(place, own);
      }
    }
  }
  std::vector<Scored> picks{best};
  for (const auto& [value, place] : best_with) picks.push_back(place);
  std::sort(picks.begin(), picks.end());
  picks.erase(std::unique(picks.begin(), picks.end()), picks.end());
  std::vector<std::uint64_t> indices;
  for (const Scored& pick : picks) indices.push_back(pick.second);
  return indices;
}

std::vector<std::uint64_t> Guidance::picks(std::size_t count) {
  if (guides_.empty() || count == 0) return {};
  // By turns what all sources together hold to be best, and what each does.
  std::vector<std::vector<std::uint64_t>> lists{best_of_switches(nullptr)};
  for (std::size_t g = 0; g < guides_.size() && guides_.size() > 1; ++g) lists.push_back(best_of_switches(&guides_[g]));
  std::vector<std::uint64_t> picks;
  for (std::size_t rank = 0; rank < lists.front().size(); ++rank)
    for (const std::vector<std::uint64_t>& list : lists)
      if (rank < list.size() && std::find(picks.begin(), picks.end(), list[rank]) == picks.end())
        picks.push_back(list[rank]);
  const auto apart = [&](std::uint64_t index) {
    const Digits digits = space_.value_indices(index);
    return std::all_of(picks.begin(), picks.end(),
                       [&](std::uint64_t other) { return hamming_distance(digits, space_.value_indices(other)) >= 2; });
  };
  // Turn 0 weighs all sources together; with one source it is that source's turn.
  const std::size_t turns = guides_.size() > 1 ? guides_.size() + 1 : 1;
  for (std::size_t turn = 0, idle = 0; picks.size() < count && idle < turns; turn = (turn + 1) % turns) {
    std::pair<double, std::uint64_t> best{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t g = 0; g < guides_.size(); ++g) {
      if (turn > 0 && g + 1 != turn) continue;
      std::size_t looked = 0;
      for (const std::uint64_t index : guides_[g].order()) {
        if (!apart(index)) continue;
        best = std::min(best, {turn > 0 ? guides_[g].score(index) : joint_score(index), index});
        if (++looked == (turn > 0 ? 1 : looked_at)) break;
      }
    }
    idle = std::isfinite(best.first) ? 0 : idle + 1;
    if (std::isfinite(best.first)) picks.push_back(best.second);
  }
  picks.resize(std::min(picks.size(), count));
  return picks;
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
