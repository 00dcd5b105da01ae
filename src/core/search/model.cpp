// Search with a model: the candidate of a pool with the largest expected improvement comes next.
#include "core/search/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/search/budgeted.hpp"
#include "core/search/compile_times.hpp"
#include "core/search/strategy.hpp"

namespace xtune::search {

namespace {

constexpr double slope_beyond_cap = 0.1;
constexpr double max_above_best = 1;     // e times the best, unless fewer than a quarter are that good
constexpr double min_above_best = 0.05;  // differences within the noise make no knee

// Targets from results.

// The centre is this many deviations below the mean: unknown configurations are expected to be somewhat better than
// known ones, which makes the search explore.
constexpr double optimism = 0.5;

// A model of the hardware is trusted as if a few results had said so: its trust is normal around 1, and its errors are
// normal, both a priori. What the results say replaces this.
constexpr double prior_trust = 0.1;                      // variance of its errors / variance of its trust
constexpr double usual_error = 0.15, error_results = 3;  // in logarithms of time
constexpr double max_trust = 1.2;

// Spread out, with a preference for the middle.

constexpr int design_draws = 100;
constexpr double nearly_best = 1.25;  // times what the prior expects at best
constexpr std::size_t min_likely = 50;
constexpr float centre_pull = 0.3f;

float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(square);
}

// Search with a model: the candidate of a pool with the largest expected improvement comes next.

constexpr std::size_t initial_results = 4;                  // of a search without sources
constexpr std::size_t initial_guided = 6;                   // of a guided search: sources may mislead
constexpr std::size_t initial_with_prior = 1;               // a model of the hardware is corrected by any result
constexpr std::size_t pool_draws = 1000;                    // random candidates
constexpr std::size_t polished = 5;                         // the best few, whose neighbours are all candidates
constexpr double min_chance = 0.005;                        // of success: a failure is never certain
constexpr std::size_t min_interval = 5, max_interval = 60;  // results between restarts of the model
constexpr std::size_t interval_part = 7;                    // or this part of the results

using MakeModel = std::unique_ptr<Model> (*)(const space::Space& space, const Features& features);

// A model of all results, and its pool of candidates.
class Proposer {
 public:
  Proposer(const BudgetedSearch& search, base::Random& random, const Prior& prior, std::unique_ptr<Model> model,
           std::size_t compilers)
      : search_(search), random_(random), prior_(prior), model_(std::move(model)), delays_(search.space(), compilers) {}

  std::optional<std::uint64_t> next() {
    if (search_.results().size() >= next_restart_)
      restart();
    else if (search_.results().size() > learnt_)
      update();
    return choose();
  }

  void learn(const SearchResult& result) { delays_.learn(result.index, result.compile_s); }

  // Outstanding from now on.
  void expect(std::uint64_t index) {
    if (lesson_) model_->expect(index);
  }

 private:
  const space::Space& space() const { return search_.space(); }

  void restart() {
    const std::size_t count = search_.results().size();
    next_restart_ = count + std::clamp(count / interval_part, min_interval, max_interval);
    learnt_ = count;
    lesson_.emplace(search_.results(), prior_.time_ms);
    pool_.clear();
    in_pool_.clear();
    expanded_.clear();
    if (space().size() <= pool_draws) {
      for (std::uint64_t index = 0; index < space().size(); ++index) add_candidate(index);
    } else {
      for (std::size_t i = 0; i < pool_draws; ++i) add_candidate(random_.below(space().size()));
      for (const std::uint64_t index : prior_.best) add_candidate(index);
      add_neighbours();
    }
    model_->restart(*lesson_, search_.outstanding(), pool_, random_);
  }

  void update() {
    learnt_ = search_.results().size();
    lesson_.emplace(search_.results(), prior_.time_ms);
    const std::size_t before = pool_.size();
    if (space().size() > pool_draws) add_neighbours();
    model_->extend(std::span(pool_).subspan(before));
    model_->update(*lesson_, random_);
  }

  void add_candidate(std::uint64_t index) {
    if (!search_.known(index) && in_pool_.insert(index).second) pool_.push_back(index);
  }

  void add_neighbours() {
    const auto& timed = lesson_->timed();
    for (std::size_t i = 0; i < std::min(polished, timed.size()); ++i)
      if (expanded_.insert(timed[i]).second)
        for (const std::uint64_t neighbour : space().neighbours(timed[i])) add_candidate(neighbour);
  }

  std::optional<std::uint64_t> choose() {
    delays_.expect(search_.left(), search_.outstanding());
    std::optional<std::uint64_t> best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (search_.known(pool_[i])) continue;
      const Prediction prediction = model_->predict(i);
      const double mean = prediction.mean + lesson_->explained(pool_[i]);
      const double score = log_expected_improvement(mean, prediction.deviation + 1e-4, lesson_->best()) +
                           std::log(std::max(min_chance, 1.0 - prediction.failure)) - delays_.logarithm(pool_[i]);
      if (score > best_score) {
        best_score = score;
        best = pool_[i];
      }
    }
    return best;
  }

  const BudgetedSearch& search_;
  base::Random& random_;
  const Prior& prior_;
  std::unique_ptr<Model> model_;
  CompileDelays delays_;
  std::optional<Lesson> lesson_;
  std::size_t next_restart_ = 0, learnt_ = 0;
  std::vector<std::uint64_t> pool_;
  std::unordered_set<std::uint64_t> in_pool_, expanded_;
};

class ModelSearch : public BudgetedSearch {
 public:
  ModelSearch(const StrategyOptions& options, MakeModel make_model)
      : BudgetedSearch(options),
        prior_(options.prior),
        design_(options.space, features(), prior_),
        proposer_(*this, random(), prior_, make_model(options.space, features()), options.compilers) {}

 protected:
  std::optional<std::uint64_t> next() override {
    // Proposals of the sources do not count as places of the design.
    const std::size_t initial = prior_.time_ms ? initial_with_prior : guided() ? initial_guided : initial_results;
    if (!best() || own_results() < initial) {
      const auto designed = design_.next(random());
      return designed && known(*designed) ? fresh() : designed;
    }
    const std::optional<std::uint64_t> pick = proposer_.next();
    if (pick) proposer_.expect(*pick);
    return pick;
  }
  void learn(const SearchResult& result) override { proposer_.learn(result); }

 private:
  Prior prior_;
  InitialDesign design_;
  Proposer proposer_;
};

}  // namespace

SoftLogarithm::SoftLogarithm(std::span<const double> times_ms) {
  const auto quantile = [&](double part) {
    return std::log(times_ms[static_cast<std::size_t>(part * static_cast<double>(times_ms.size() - 1))]);
  };
  const double best = std::log(times_ms.front());
  const double knee = std::min(quantile(0.75), std::max(best + max_above_best, quantile(0.25)));
  cap_ = std::max(best + min_above_best, knee);
}

double SoftLogarithm::operator()(double time_ms) const noexcept {
  const double value = std::log(time_ms);
  return value <= cap_ ? value : cap_ + slope_beyond_cap * (value - cap_);
}

Lesson::Lesson(std::span<const SearchResult> results, Estimate estimate) : estimate_(std::move(estimate)) {
  std::vector<double> measured_ms;
  for (const SearchResult& result : results)
    if (result.kind == SearchResult::Kind::measured) measured_ms.push_back(result.time_ms);
  std::sort(measured_ms.begin(), measured_ms.end());
  std::vector<SearchResult> timed;
  for (SearchResult result : results) {
    if (result.kind == SearchResult::Kind::failed) {
      failed_.push_back(result.index);
      targets_.emplace(result.index, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    // A bound above the best counts as the time; a bound below only means that the configuration was beaten.
    if (result.kind == SearchResult::Kind::bound && result.time_ms <= measured_ms.front())
      result.time_ms = measured_ms[measured_ms.size() / 2];
    timed.push_back(result);
  }
  failure_rate_ = static_cast<float>(failed_.size()) / static_cast<float>(results.size());
  std::sort(timed.begin(), timed.end(), [](const SearchResult& a, const SearchResult& b) {
    return std::pair(a.time_ms, a.index) < std::pair(b.time_ms, b.index);
  });
  logarithm_ = SoftLogarithm(measured_ms);
  std::vector<double> values;
  for (const SearchResult& result : timed) {
    timed_.push_back(result.index);
    values.push_back(logarithm_(result.time_ms));
  }
  if (estimate_) trust_prior(timed, values);
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += (value - mean) * (value - mean);
  const double unseen = estimate_ ? error_results : 0;
  deviation_ = std::max(
      1e-3, std::sqrt((square + unseen * usual_error * usual_error) / (static_cast<double>(timed.size()) + unseen)));
  const double centre = mean - optimism * deviation_;
  for (std::size_t i = 0; i < timed.size(); ++i)
    targets_.emplace(timed_[i], static_cast<float>((values[i] - centre) / deviation_));
  best_ = static_cast<float>((logarithm_(measured_ms.front()) - centre) / deviation_);
}

// Takes the prior's part from the values.
void Lesson::trust_prior(const std::vector<SearchResult>& timed, std::vector<double>& values) {
  std::vector<double> factors;
  for (const SearchResult& result : timed)  // those near the best, where it matters
    if (const double factor = result.time_ms / estimate_(result.index); factor > 0 && std::isfinite(factor))
      if (factors.size() <= timed.size() / 2) factors.push_back(factor);
  if (factors.empty()) return;
  const auto middle = factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2);
  std::nth_element(factors.begin(), middle, factors.end());
  factor_ = *middle;
  double both = prior_trust, own = prior_trust, mean = 0, expected_mean = 0;
  std::vector<double> expectations;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    expectations.push_back(expected(timed[i].index));
    mean += values[i] / static_cast<double>(values.size());
    expected_mean += expectations[i] / static_cast<double>(values.size());
  }
  for (std::size_t i = 0; i < timed.size(); ++i) {
    both += (expectations[i] - expected_mean) * (values[i] - mean);
    own += (expectations[i] - expected_mean) * (expectations[i] - expected_mean);
  }
  weight_ = std::clamp(both / own, 0.0, max_trust);
  for (std::size_t i = 0; i < timed.size(); ++i) values[i] -= weight_ * expectations[i];
}

// A configuration that cannot run, by the prior, is expected where slowness stops to matter.
double Lesson::expected(std::uint64_t index) const {
  const double time_ms = estimate_(index) * factor_;
  return time_ms > 0 && std::isfinite(time_ms) ? logarithm_(time_ms) : logarithm_.cap();
}

float Lesson::explained(std::uint64_t index) const {
  return weight_ == 0 ? 0 : static_cast<float>(weight_ * expected(index) / deviation_);
}

float Lesson::target(std::uint64_t index) const {
  const auto found = targets_.find(index);
  return found == targets_.end() ? std::numeric_limits<float>::quiet_NaN() : found->second;
}

float Lesson::failure(std::uint64_t index) const {
  const auto found = targets_.find(index);
  if (found == targets_.end()) return std::numeric_limits<float>::quiet_NaN();
  return (std::isnan(found->second) ? 1.0f : 0.0f) - failure_rate_;
}

InitialDesign::InitialDesign(const space::Space& space, const Features& features, const Prior& prior)
    : space_(space), features_(features) {
  if (prior.best.empty()) return;
  const double limit_ms = nearly_best * prior.time_ms(prior.best.front());
  std::size_t count = 0;
  while (count < prior.best.size() && (count < min_likely || prior.time_ms(prior.best[count]) < limit_ms)) ++count;
  likely_ = std::span(prior.best).first(count);
}

std::optional<std::uint64_t> InitialDesign::next(base::Random& random) {
  if (space_.size() == 0) return std::nullopt;
  const std::vector<float> centre(features_.plain_count(), 0.5f);
  std::vector<float> point(features_.plain_count()), best_point;
  float best_score = -std::numeric_limits<float>::infinity();
  std::uint64_t best = 0;
  for (int draw = 0; draw < design_draws; ++draw) {
    const std::uint64_t index = likely_.empty() ? random.below(space_.size()) : likely_[random.below(likely_.size())];
    features_.plain(space_.value_indices(index), point.data());
    float score = -distance(point, centre);
    if (!taken_.empty()) {
      float nearest = std::numeric_limits<float>::infinity();
      for (const std::vector<float>& other : taken_) nearest = std::min(nearest, distance(point, other));
      score = nearest + centre_pull * score;
    }
    if (score > best_score) {
      best_score = score;
      best = index;
      best_point = point;
    }
  }
  taken_.push_back(std::move(best_point));
  return best;
}

std::unique_ptr<Strategy> make_bayesian_strategy(const StrategyOptions& options) {
  return std::make_unique<ModelSearch>(options, make_process_model);
}

std::unique_ptr<Strategy> make_forest_strategy(const StrategyOptions& options) {
  StrategyOptions own = options;
  own.prior = {};  // trees that learn what a model leaves stop too early
  return std::make_unique<ModelSearch>(own, make_forest_model);
}

std::unique_ptr<Strategy> make_auto_strategy(const StrategyOptions& options) {
  if (options.space.size() <= options.evals) return make_random_strategy(options);
  return make_bayesian_strategy(options);
}

}  // namespace xtune::search
