// Scores: exact expectations, counting, the aggregate's parts, and the same result on any number of threads.
#include "lab/score.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/random.hpp"
#include "caches.hpp"

using namespace xtune::base;
using namespace xtune::lab;
using namespace xtune::search;

using namespace xtune;
using namespace xtune::test;

namespace {

/// Proposes given configurations.
class Scripted final : public Strategy {
 public:
  explicit Scripted(std::vector<std::uint64_t> script) : script_(std::move(script)) {}
  std::vector<std::uint64_t> propose(std::size_t) override {
    if (next_ == script_.size()) return {};
    return {script_[next_++]};
  }
  void observe(const Observation& observation) override { seen.push_back(observation); }
  std::vector<Observation> seen;

 private:
  std::vector<std::uint64_t> script_;
  std::size_t next_ = 0;
};

/// Times spread over two decades, an eighth of them failed.
Recording rugged(std::size_t count, const std::string& name) {
  std::vector<double> times;
  Random random(count);
  for (std::size_t i = 0; i < count; ++i)
    times.push_back(random.below(8) == 0 ? 0 : 1 + 99 * random.uniform() * random.uniform());
  return recording_of(times, name);
}

}  // namespace

TEST_CASE("a trial counts failures, keeps the best and sums up recorded time") {
  const Recording recording = recording_of({5, 0, 2, 3});
  Scripted strategy({1, 0, 3, 2});
  const auto steps = run_trial(recording, strategy, {3, 0});
  REQUIRE(steps.size() == 3);
  CHECK(std::isinf(steps[0].best_ms));
  CHECK(steps[1].best_ms == 5);
  CHECK(steps[2].best_ms == 3);
  CHECK(steps[2].seconds == 3);
  REQUIRE(strategy.seen.size() == 3);
  CHECK(strategy.seen[0].outcome == Outcome::launch_failed);
  Scripted timed({0, 1, 2, 3});
  CHECK(run_trial(recording, timed, {4, 1.5}).size() == 2);
}

TEST_CASE("a strategy that repeats itself or leaves the space is a defect") {
  const Recording recording = recording_of({5, 4});
  Scripted twice({1, 1}), beyond({2});
  CHECK_THROWS_AS(run_trial(recording, twice, {9, 0}), std::logic_error);
  CHECK_THROWS_AS(run_trial(recording, beyond, {9, 0}), std::logic_error);
}

TEST_CASE("the expectation of random search by hand") {
  // Of {1, 2, 4, failed}: one draw finds 1, 1/2, 1/4 or nothing.
  const Recording recording = recording_of({4, 0, 1, 2});
  const auto found = random_expectation(recording, {1, 2, 3, 4, 100});
  CHECK(found[0] == doctest::Approx((1 + 0.5 + 0.25 + 0) / 4));
  // Two draws: six pairs; the best is 1 in three of them, 2 in two, 4 in one.
  CHECK(found[1] == doctest::Approx((3 * 1 + 2 * 0.5 + 1 * 0.25) / 6));
  CHECK(found[2] == doctest::Approx((3 * 1 + 1 * 0.5) / 4));
  CHECK(found[3] == doctest::Approx(1));
  CHECK(found[4] == doctest::Approx(1));
}

TEST_CASE("the random strategy's score approaches the exact expectation") {
  const std::vector<Recording> recordings{rugged(300, "a")};
  ScoreOptions options;
  options.strategies = {"random"};
  options.evals = {5, 20, 80};
  options.repeats = 4000;
  const auto scores = score_strategies(recordings, options);
  const auto exact = random_expectation(recordings[0], options.evals);
  // A found ratio lies in [0, 1]: its mean over 4,000 has a standard deviation below 0.008.
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(scores[0].mean[i] - exact[i]) < 0.04);
  REQUIRE(scores[0].aggregate);
  CHECK(std::abs(*scores[0].aggregate) < 0.15);  // random against itself
}

TEST_CASE("the same seed gives the same bits on any number of threads, another seed others") {
  std::vector<Recording> recordings{rugged(200, "a"), rugged(150, "b")};
  ScoreOptions options;
  options.strategies = {"auto", "random"};
  options.evals = {3, 10, 50};
  options.repeats = 7;
  const auto one = score_strategies(recordings, options);
  options.threads = 5;
  const auto five = score_strategies(recordings, options);
  options.seed = 2;
  const auto other = score_strategies(recordings, options);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].mean == five[i].mean);
    CHECK(one[i].aggregate == five[i].aggregate);
    CHECK(one[i].mean != other[i].mean);
    for (std::size_t space = 0; space < 2; ++space) CHECK(one[i].spaces[space].found == five[i].spaces[space].found);
  }
}

TEST_CASE("evaluations beyond the space, a space of one, all failing, and wrong options") {
  ScoreOptions options;
  options.strategies = {"exhaustive", "random", "local", "auto"};
  options.repeats = 2;
  for (const StrategyScore& score : score_strategies({recording_of({7})}, options)) {
    CHECK(score.mean == std::vector<double>{1, 1, 1, 1, 1});
    CHECK_FALSE(score.aggregate);
  }
  for (const StrategyScore& score : score_strategies({rugged(20, "small")}, options)) CHECK(score.mean.back() == 1);
  CHECK(error_of([&] { score_strategies({recording_of({0, 0})}, options); }).starts_with("nothing_valid: line: all 2"));
  options.strategies = {"randm"};
  CHECK(error_of([&] { score_strategies({recording_of({1})}, options); }).find("did you mean 'random'") !=
        std::string::npos);
  options.strategies = {"random"};
  options.evals = {0, 3};
  CHECK(error_of([&] { score_strategies({recording_of({1})}, options); }).starts_with("invalid_argument"));
}

TEST_CASE("isotonic regression pools what goes the wrong way") {
  CHECK(isotonic({}) == std::vector<double>{});
  CHECK(isotonic({1, 2, 3}) == std::vector<double>{1, 2, 3});
  CHECK(isotonic({3, 2, 1}) == std::vector<double>{2, 2, 2});
  CHECK(isotonic({1, 4, 2, 3, 9}) == std::vector<double>{1, 3, 3, 3, 9});
}

TEST_CASE("the monotone cubic keeps to its points, never overshoots and is flat beyond them") {
  const std::vector<double> x{0, 1, 2}, y{0, 1, 4};
  CHECK(monotone_cubic(x, y, 0.5) == doctest::Approx(0.3125));  // slopes 0, 1.5 and 4 by Fritsch and Carlson
  for (std::size_t i = 0; i < 3; ++i) CHECK(monotone_cubic(x, y, x[i]) == doctest::Approx(y[i]));
  CHECK(monotone_cubic(x, y, -1) == 0);
  CHECK(monotone_cubic(x, y, 9) == 4);
  CHECK(monotone_cubic({3}, {5}, 3) == 5);
  CHECK(monotone_cubic({0, 2}, {4, 0}, 1) == doctest::Approx(2));
  const std::vector<double> steps{9, 4, 4, 1, 1}, at{1, 2, 3, 4, 5};
  for (double t = 1, last = 9; t <= 5; t += 0.05) {
    const double now = monotone_cubic(at, steps, t);
    CHECK(now <= last + 1e-12);
    last = now;
  }
}

TEST_CASE("the aggregate score by hand: nine configurations of 1 to 9 ms, a second each") {
  const Recording recording = recording_of({9, 8, 7, 6, 5, 4, 3, 2, 1});
  const auto problem = AggregateProblem::of(recording);
  REQUIRE(problem);
  // f_cut at p = .95 is 1.2 ms, first reached at i = 8: ceil(8 / 2) evaluations; at p = .01, 4.96 ms: i = 5, 1
  // evaluation.
  CHECK(problem->grid_s().front() == 1);
  CHECK(problem->end_s() == 4);
  CHECK(problem->evals() == 4);
  // k = 1, 2, 3, 4 evaluations reach D[5], D[7], D[8], D[8].
  CHECK(problem->baseline_ms().front() == doctest::Approx(4));
  CHECK(problem->baseline_ms()[333] == doctest::Approx(2).epsilon(0.01));
  CHECK(problem->baseline_ms().back() == doctest::Approx(1));

  const std::vector<TrialStep> optimum_at_once{{1, 1}, {1, 2}, {1, 3}, {1, 4}};
  const auto best = problem->score({optimum_at_once, optimum_at_once});
  REQUIRE(best);
  // One wherever random search is not at the optimum, which it reaches at 3 s.
  CHECK(*best == doctest::Approx(2.0 / 3).epsilon(0.02));
  const std::vector<TrialStep> stuck{{9, 1}, {9, 2}, {9, 3}, {9, 4}};
  CHECK(*problem->score({stuck}) < 0);
  // An end before the budget is flat: the same as going on with nothing found.
  CHECK(problem->curve_ms({{{2, 1}, {2, 2}}}).back() == 2);
  CHECK(problem->curve_ms({{{2, 1}}, {{4, 1}}}).front() == 3);  // the ranks' mean
  CHECK(problem->curve_ms({{{4, 1}}, {{2, 1}}}).front() == 3);
  const double none = std::numeric_limits<double>::infinity();
  CHECK_FALSE(problem->score({{{none, 1}, {none, 2}}}));
}

TEST_CASE("recordings without an aggregate score") {
  CHECK_FALSE(AggregateProblem::of(recording_of({1, 2})));
  CHECK_FALSE(AggregateProblem::of(recording_of({2, 2, 2, 2})));
  Recording free = recording_of({1, 2, 3, 4});
  for (RecordedConfig& config : free.configs) config.bench_s = 0;
  CHECK_FALSE(AggregateProblem::of(free));
}
