// Budget, baseline and pooled curve of the aggregate score.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/measure/statistics.hpp"
#include "lab/score.hpp"

namespace xtune::lab {
namespace {

double median_of(const std::vector<double>& values) { return measure::summarize(values).median; }

double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Evaluations that random search needs to cover a fraction p of the distance from the median to the optimum.
double evals_to_cutoff(const std::vector<double>& worst_to_best, double p) {
  const auto count = static_cast<double>(worst_to_best.size());
  const double best = worst_to_best.back();
  const double cutoff = best + (median_of(worst_to_best) - best) * (1 - p);
  const auto found =
      std::find_if(worst_to_best.begin(), worst_to_best.end(), [&](double time) { return time <= cutoff; });
  const auto index = static_cast<double>(found - worst_to_best.begin());
  return std::max(1.0, std::ceil(index / (count + 1 - index)));
}

/// Fritsch and Carlson's limited slopes, with the harmonic mean as in PCHIP.
double slope_at(const std::vector<double>& x, const std::vector<double>& y, std::size_t i) {
  const auto secant = [&](std::size_t k) { return (y[k + 1] - y[k]) / (x[k + 1] - x[k]); };
  if (x.size() == 2) return secant(0);
  const auto at_end = [&](std::size_t near, std::size_t next, double h0, double h1) {
    const double d0 = secant(near), d1 = secant(next);
    const double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (slope * d0 <= 0) return 0.0;
    return d0 * d1 <= 0 && std::abs(slope) > 3 * std::abs(d0) ? 3 * d0 : slope;
  };
  const std::size_t last = x.size() - 1;
  if (i == 0) return at_end(0, 1, x[1] - x[0], x[2] - x[1]);
  if (i == last) return at_end(last - 1, last - 2, x[last] - x[last - 1], x[last - 1] - x[last - 2]);
  const double d0 = secant(i - 1), d1 = secant(i);
  if (d0 * d1 <= 0) return 0;
  const double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
  const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
  return (w0 + w1) / (w0 / d0 + w1 / d1);
}

/// A point of a pooled curve: its time, and the index in D of the best so far.
struct Point {
  double seconds, rank;
};

}  // namespace

double monotone_cubic(const std::vector<double>& x, const std::vector<double>& y, double at) {
  if (x.size() == 1 || at <= x.front()) return y.front();
  if (at >= x.back()) return y.back();
  const auto i = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), at) - x.begin()) - 1;
  const double h = x[i + 1] - x[i], t = (at - x[i]) / h;
  const double m0 = slope_at(x, y, i) * h, m1 = slope_at(x, y, i + 1) * h;
  return (1 + 2 * t) * (1 - t) * (1 - t) * y[i] + t * (1 - t) * (1 - t) * m0 + t * t * (3 - 2 * t) * y[i + 1] +
         t * t * (t - 1) * m1;
}

std::vector<double> isotonic(std::vector<double> y) {
  struct Block {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (const double value : y) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      blocks[blocks.size() - 2].sum += blocks.back().sum;
      blocks[blocks.size() - 2].count += blocks.back().count;
      blocks.pop_back();
    }
  }
  std::size_t next = 0;
  for (const Block& block : blocks)
    for (std::size_t i = 0; i < block.count; ++i) y[next++] = block.mean();
  return y;
}

std::optional<AggregateProblem> AggregateProblem::of(const Recording& recording) {
  AggregateProblem problem;
  std::vector<double> costs, valid_costs, invalid_costs;
  for (const RecordedConfig& config : recording.configs) {
    costs.push_back(config.seconds());
    if (config.outcome == Outcome::ok) problem.worst_to_best_.push_back(config.time_ms);
    (config.outcome == Outcome::ok ? valid_costs : invalid_costs).push_back(config.seconds());
  }
  std::vector<double>& times = problem.worst_to_best_;
  std::sort(times.begin(), times.end(), std::greater<>());
  if (times.size() < 3 || times.front() == times.back()) return std::nullopt;
  const double typical_s = median_of(costs);
  const double invalid_part = static_cast<double>(invalid_costs.size()) / static_cast<double>(costs.size());
  const double mean_s = mean_of(valid_costs) + invalid_part * mean_of(invalid_costs);
  if (!(typical_s > 0) || !(mean_s > 0)) return std::nullopt;
  const double start_s = evals_to_cutoff(times, .01) * typical_s;
  const double end_s = evals_to_cutoff(times, .95) * typical_s;

  const auto count = static_cast<double>(times.size());
  std::vector<double> at_s, reached_ms;
  double last_k = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double t = start_s + (end_s - start_s) * static_cast<double>(i) / static_cast<double>(points - 1);
    problem.grid_.push_back(t);
    const double k = std::max(1.0, std::round(t / mean_s));
    if (k == last_k) continue;
    last_k = k;
    const double index = std::min(count - 1, std::round(k * (count + 1) / (k + 1)));
    at_s.push_back(k * mean_s);
    reached_ms.push_back(times[static_cast<std::size_t>(index)]);
  }
  for (const double t : problem.grid_) problem.baseline_.push_back(monotone_cubic(at_s, reached_ms, t));
  problem.evals_ =
      std::min<std::uint64_t>(recording.space.size(), static_cast<std::uint64_t>(std::ceil(end_s / mean_s)));
  return problem;
}

std::vector<double> AggregateProblem::curve_ms(const std::vector<std::vector<TrialStep>>& repeats) const {
  std::vector<Point> pool;
  std::vector<double> ends;
  for (const std::vector<TrialStep>& steps : repeats) {
    for (const TrialStep& step : steps) {
      if (std::isinf(step.best_ms)) continue;
      const auto found = std::lower_bound(worst_to_best_.begin(), worst_to_best_.end(), step.best_ms, std::greater<>());
      pool.push_back({step.seconds, static_cast<double>(found - worst_to_best_.begin())});
    }
    if (!steps.empty()) ends.push_back(steps.back().seconds);
  }
  if (pool.empty()) return {};
  // For equal times, the better first: such points violate the order and are pooled, as points of equal weight should
  // be.
  std::sort(pool.begin(), pool.end(), [](const Point& a, const Point& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.rank > b.rank;
  });
  std::vector<double> ranks;
  for (const Point& point : pool) ranks.push_back(point.rank);
  ranks = isotonic(std::move(ranks));
  const double flat_after_s = median_of(ends);
  std::vector<double> curve;
  for (const double grid_s : grid_) {
    const double t = std::min(grid_s, flat_after_s);
    const auto after =
        std::upper_bound(pool.begin(), pool.end(), t, [](double at, const Point& point) { return at < point.seconds; });
    const auto i = static_cast<std::size_t>(after - pool.begin());
    double rank = i == 0 ? ranks.front() : ranks[i - 1];
    if (i > 0 && i < pool.size() && pool[i].seconds > pool[i - 1].seconds)
      rank += (ranks[i] - rank) * (t - pool[i - 1].seconds) / (pool[i].seconds - pool[i - 1].seconds);
    curve.push_back(worst_to_best_[static_cast<std::size_t>(std::round(rank))]);
  }
  return curve;
}

std::optional<double> AggregateProblem::score(const std::vector<std::vector<TrialStep>>& repeats) const {
  const std::vector<double> curve = curve_ms(repeats);
  if (curve.empty()) return std::nullopt;
  const double best = worst_to_best_.back();
  double sum = 0;
  for (std::size_t i = 0; i < curve.size(); ++i)
    // Where random search itself is expected to be at the optimum, nothing can be better.
    if (baseline_[i] > best) sum += (curve[i] - baseline_[i]) / (best - baseline_[i]);
  return sum / static_cast<double>(curve.size());
}

}  // namespace xtune::lab
