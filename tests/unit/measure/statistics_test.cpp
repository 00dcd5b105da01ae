// Statistics of series: against brute force, by their properties, and where the sampling stops.
#include "core/measure/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"
#include "core/measure/race.hpp"
#include "fakes/fake_clock.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::measure;

using namespace xtune;
using fakes::FakeClock;

namespace {

// Coverage of [rank-th smallest, rank-th largest] for the median, by adding up Pascal's triangle.
double coverage(std::size_t count, std::size_t rank) {
  std::vector<double> row{1};
  for (std::size_t n = 0; n < count; ++n) {
    std::vector<double> next(row.size() + 1, 0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      next[k] += row[k] / 2;
      next[k + 1] += row[k] / 2;
    }
    row = next;
  }
  double below = 0;
  for (std::size_t k = 0; k < rank; ++k) below += row[k];
  return 1 - 2 * below;
}

std::vector<double> noisy(std::uint64_t seed, std::size_t count, double base, double spread) {
  Random random(seed);
  std::vector<double> samples(count);
  for (double& sample : samples) sample = base + spread * random.uniform();
  return samples;
}

}  // namespace

TEST_CASE("the median's interval has the smallest width with 95 % coverage") {
  CHECK(median_interval_rank(0) == 0);
  for (std::size_t count = 1; count <= 5; ++count) CHECK(median_interval_rank(count) == 1);
  for (std::size_t count = 6; count <= 300; ++count) {
    const std::size_t rank = median_interval_rank(count);
    CAPTURE(count);
    CHECK(coverage(count, rank) >= 0.95);
    CHECK(coverage(count, rank + 1) < 0.95);
  }
}

TEST_CASE("ranks of published tables") {
  // Conover, Practical Nonparametric Statistics: two-sided 5 % critical values of the sign test, plus one.
  CHECK(median_interval_rank(10) == 2);
  CHECK(median_interval_rank(20) == 6);
  CHECK(median_interval_rank(25) == 8);
  CHECK(median_interval_rank(50) == 18);
  CHECK(median_interval_rank(100) == 40);
}

TEST_CASE("the approximation for long series continues the exact ranks") {
  const auto exact = median_interval_rank(1000), approximate = median_interval_rank(1001);
  CHECK(approximate + 1 >= exact);
  CHECK(approximate <= exact + 1);
  CHECK(median_interval_rank(1000000) == 499020);
}

TEST_CASE("the median's interval covers the true median about as often as it says") {
  int covered = 0;
  constexpr int series = 2000;
  for (int i = 0; i < series; ++i) {
    const auto summary = summarize(noisy(static_cast<std::uint64_t>(i), 25, 1, 2));
    covered += summary.low <= 2 && 2 <= summary.high;
  }
  CHECK(covered >= series * 94 / 100);
}

TEST_CASE("summaries by hand") {
  const std::vector<double> samples{4, 1, 3, 2};
  const Summary summary = summarize(samples);
  CHECK(summary.count == 4);
  CHECK(summary.min == 1);
  CHECK(summary.q1 == 1.75);
  CHECK(summary.median == 2.5);
  CHECK(summary.q3 == 3.25);
  CHECK(summary.mean == 2.5);
  CHECK(summary.max == 4);
  CHECK(summary.noise == doctest::Approx(0.6));
  CHECK(summary.low == 1);
  CHECK(summary.high == 4);
  CHECK(summarize(std::vector<double>{}).count == 0);
  CHECK(summarize(std::vector<double>{}).median == 0);
}

TEST_CASE("summaries keep their order, scale with the samples and do not depend on the samples' order") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto samples = noisy(seed, 1 + seed % 90, 0.5, 1.0 + static_cast<double>(seed));
    const Summary s = summarize(samples);
    CHECK(s.min <= s.q1);
    CHECK(s.q1 <= s.median);
    CHECK(s.median <= s.q3);
    CHECK(s.q3 <= s.max);
    CHECK(s.min <= s.mean);
    CHECK(s.mean <= s.max);
    CHECK(s.min <= s.low);
    CHECK(s.low <= s.median);
    CHECK(s.median <= s.high);
    CHECK(s.high <= s.max);
    auto reversed = samples;
    std::reverse(reversed.begin(), reversed.end());
    CHECK(summarize(reversed).median == s.median);
    CHECK(summarize(reversed).low == s.low);
    for (double& sample : samples) sample *= 4;
    CHECK(summarize(samples).median == 4 * s.median);
    CHECK(summarize(samples).noise == doctest::Approx(s.noise));
  }
}

TEST_CASE("equal samples have no noise; zeros do not divide") {
  const std::vector<double> equal(9, 0.1);
  const Summary s = summarize(equal);
  CHECK(s.noise == 0);
  CHECK(s.mean == 0.1);
  CHECK(s.low == s.high);
  CHECK(summarize(std::vector<double>(9, 0.0)).noise == 0);
}

TEST_CASE("a sample that is not a time is refused") {
  CHECK_THROWS_AS(summarize(std::vector<double>{1, std::nan("")}), std::invalid_argument);
  CHECK_THROWS_AS(summarize(std::vector<double>{std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

TEST_CASE("A statistic of a summary, and its word") {
  const Summary s = summarize(std::vector<double>{1, 2, 6});
  CHECK(statistic(s, Statistic::median) == 2);
  CHECK(statistic(s, Statistic::min) == 1);
  CHECK(statistic(s, Statistic::mean) == doctest::Approx(3));
  for (const Statistic each : {Statistic::median, Statistic::min, Statistic::mean})
    CHECK(xtune::spec::statistic_from_string(to_string(each)) == each);
  CHECK_FALSE(xtune::spec::statistic_from_string("mode"));
}

TEST_CASE("stopping") {
  StoppingRule rule;
  rule.max_time_ms = 1e9;
  const auto stop = [&](const std::vector<double>& samples) { return should_stop(samples, rule); };

  SUBCASE("never before min_rep, whatever the samples") {
    rule.max_time_ms = 1;
    for (std::size_t n = 0; n < 7; ++n) CHECK(stop(std::vector<double>(n, 10.0)) == Stop::go_on);
    CHECK(stop(std::vector<double>(7, 10.0)) == Stop::out_of_time);
  }
  SUBCASE("except where rep is smaller") {
    rule.rep = 3;
    CHECK(stop(std::vector<double>(2, 1.0)) == Stop::go_on);
    CHECK(stop(std::vector<double>(3, 1.0)) == Stop::enough);
  }
  SUBCASE("steady samples stop early, noisy ones run to rep") {
    CHECK(stop(noisy(1, 7, 1.0, 0.001)) == Stop::steady);
    for (std::size_t n = 7; n < 50; ++n) CHECK(stop(noisy(2, n, 1.0, 1.0)) == Stop::go_on);
    CHECK(stop(noisy(2, 50, 1.0, 1.0)) == Stop::enough);
  }
  SUBCASE("min_time_ms keeps a steady series going, within rep") {
    rule.min_time_ms = 20;
    CHECK(stop(std::vector<double>(19, 1.0)) == Stop::go_on);
    CHECK(stop(std::vector<double>(20, 1.0)) == Stop::steady);
    rule.min_time_ms = 1000;
    CHECK(stop(std::vector<double>(50, 1.0)) == Stop::enough);
  }
  SUBCASE("a timer that shows only zeros does not count as steady") {
    CHECK(stop(std::vector<double>(20, 0.0)) == Stop::go_on);
    CHECK(stop(std::vector<double>(50, 0.0)) == Stop::enough);
  }
  SUBCASE("a long series is looked at every so often, but it is looked at") {
    rule.rep = 100000;
    rule.min_rep = 1000;
    std::size_t n = 1000;
    while (stop(std::vector<double>(n, 1.0)) == Stop::go_on) ++n;
    CHECK(stop(std::vector<double>(n, 1.0)) == Stop::steady);
    CHECK(n < 1100);
  }
  SUBCASE("absurd rules still end") {
    rule.rep = -5;
    rule.min_rep = -1;
    CHECK(stop({1.0}) == Stop::enough);
  }
}

TEST_CASE("a series takes what the rule asks for") {
  FakeClock clock;
  StoppingRule rule;
  int calls = 0;
  const Series series = measure_series([&] { return ++calls, 2.0; }, rule, Budget(clock, 30));
  CHECK(calls == 7);
  CHECK(series.samples_ms == std::vector<double>(7, 2.0));
  CHECK(series.summary.median == 2);
  CHECK(series.stopped_by == Stop::steady);
}

TEST_CASE("a series ends where another sample does not fit the budget, even before min_rep, after one at least") {
  FakeClock clock;
  const auto sample = [&] { return clock.advance_s(0.4), 400.0; };
  Budget budget(clock, 2);
  budget.reserve(0.4);
  const Series series = measure_series(sample, {}, budget);
  CHECK(series.samples_ms.size() == 3);
  CHECK(series.stopped_by == Stop::out_of_time);
  CHECK(budget.spent_s() + 0.4 <= 2);
  budget.extend(0.9);  // of which half a second is left: enough for one
  CHECK(budget.launches_left(0.4) == 2);
  CHECK(measure_series(sample, {}, Budget(clock, 0)).samples_ms.size() == 1);
}

TEST_CASE("a slow configuration has no warm-up, and as many samples as fit its budget") {
  FakeClock clock;
  int warmed = 0;
  const auto sample = [&] { return clock.advance_s(3.5), 3500.0; };
  const auto warm_up = [&](int launches) { warmed += launches, clock.advance_s(3.5 * (launches + 1)); };
  const auto samples = [&](const std::optional<Incumbent>& incumbent) {
    Budget budget(clock, 30);
    const double first_ms = sample();
    budget.reserve(3.5);
    Roughness roughness;
    const Series series = measure_challenger({sample, warm_up, 3, first_ms, 3.5}, {}, budget, incumbent, roughness);
    CHECK(budget.spent_s() + 3.5 <= 30);
    return series.samples_ms.size();
  };
  CHECK(samples(std::nullopt) == 6);
  CHECK(samples(Incumbent{3500, 3600}) == 6);
  CHECK(warmed == 0);
}

TEST_CASE("a first launch that loads code for long does not shorten a fast configuration's series") {
  FakeClock clock;
  int warmed = 0;
  const auto sample = [&] { return clock.advance_s(0.001), 1.0; };
  Budget budget(clock, 30);
  clock.advance_s(12);
  budget.reserve(12);
  Roughness roughness;
  const Launching launching{sample, [&](int launches) { warmed += launches; }, 3, 1, 12};
  CHECK(measure_challenger(launching, {}, budget, std::nullopt, roughness).samples_ms.size() == 7);
  CHECK(warmed == 2);  // and the sample that showed it
}

TEST_CASE("a failing sample ends the series with its exception") {
  FakeClock clock;
  CHECK_THROWS_WITH_AS(
      measure_series([]() -> double { throw std::runtime_error("lost the device"); }, {}, Budget(clock, 30)),
      "lost the device", std::runtime_error);
}

TEST_CASE("outliers are beyond Tukey's fences, and the mean without them is theirs no more") {
  std::vector<double> samples;
  for (int i = 1; i <= 9; ++i) samples.push_back(i);  // quartiles 3 and 7: fences at -3 and 13
  CHECK(summarize(samples).outliers == 0);
  CHECK(summarize(samples).inlier_mean == summarize(samples).mean);
  samples = {5, 3, 7, 4, 6, 3, 7, 5, 13, 40, -40};
  const Summary summary = summarize(samples);
  CHECK(summary.q1 == 3.5);
  CHECK(summary.q3 == 7);
  CHECK(summary.outliers == 3);  // 12.25 and -1.75 are the fences
  CHECK(summary.inlier_mean == doctest::Approx(5));
  CHECK(statistic(summary, Statistic::inlier_mean) == summary.inlier_mean);
  CHECK(statistic(summary, Statistic::mean) == summary.mean);
  CHECK(statistic(summary, Statistic::median) == 5);
  CHECK(std::string(xtune::spec::to_string(Statistic::inlier_mean)) == "mean without outliers");
}

TEST_CASE("with a coarse timer, the next value is no outlier, and twice as much is one") {
  std::vector<double> samples(40, 1.0);
  samples.back() = 1.001;
  CHECK(summarize(samples).outliers == 0);
  samples.front() = 1.002;
  samples[1] = 0.998;
  CHECK(summarize(samples).outliers == 2);
  samples[1] = 2;
  CHECK(summarize(samples).outliers == 2);
  CHECK(summarize(samples).inlier_mean == doctest::Approx(1).epsilon(1e-4));
  CHECK(summarize({}).outliers == 0);
  CHECK(summarize(std::vector<double>{3.0}).inlier_mean == 3);
  CHECK(summarize(std::vector<double>(5, 0.0)).outliers == 0);
}
