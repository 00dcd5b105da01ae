// What models are made of: features, Gaussian process, trees, targets, first places.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "core/search/extra_trees.hpp"
#include "core/search/features.hpp"
#include "core/search/gaussian_process.hpp"
#include "core/search/model.hpp"
#include "core/search/moves.hpp"

using namespace xtune::base;
using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

Parameter parameter(const std::string& name, std::vector<Value> values) { return {name, std::move(values), true}; }
Value number(std::int64_t value) { return value; }

std::vector<float> plain(const Features& features, const Space& space, std::uint64_t index) {
  std::vector<float> result(features.plain_count());
  features.plain(space.value_indices(index), result.data());
  return result;
}

double matern(double distance) {
  const double r = std::sqrt(5.0) * distance;
  return (1 + r + r * r / 3) * std::exp(-r);
}

}  // namespace

TEST_CASE("features are logarithms, alignments and words, each over its own range") {
  const Space space({parameter("SIZE", {number(16), number(32), number(64), number(256)}),
                     parameter("FIXED", {number(7)}), parameter("ODD", {number(16), number(48), number(64)}),
                     parameter("OFF", {number(0), number(4), number(8)}), parameter("FLAG", {false, true}),
                     parameter("WORD", {std::string("row"), std::string("column"), std::string("both")}),
                     parameter("SIGNED", {number(-2), number(0), number(2)})},
                    {}, {});
  const Features features(space);
  // SIZE, ODD and its alignment, OFF, FLAG, three words, SIGNED
  REQUIRE(features.plain_count() == 9);
  CHECK(features.all_count() == 9 + 2);  // SIZE with ODD: a product and a quotient
  std::vector<float> row(features.all_count());
  features.all(Digits{1, 0, 1, 0, 1, 2, 1}, row.data());
  CHECK(row[0] == doctest::Approx(0.25));
  CHECK(row[1] == doctest::Approx(std::log2(3.0) / 2));
  CHECK(row[2] == doctest::Approx(0));  // 48 is divisible by no more than 16
  CHECK(row[3] == doctest::Approx(0));  // zero is below the others
  CHECK(row[4] == 1);
  CHECK(std::vector<float>(row.begin() + 5, row.begin() + 8) == std::vector<float>{0, 0, 1});
  CHECK(row[8] == doctest::Approx(0.5));
  CHECK(row[9] == doctest::Approx(std::log2(32.0 * 48)));
  CHECK(row[10] == doctest::Approx(std::log2(32.0 / 48)));
}

TEST_CASE("extreme values make finite features") {
  const Space space({parameter("A", {number(0), number(INT64_MAX)}), parameter("B", {1e-300, 1e300}),
                     parameter("C", {number(INT64_MIN), number(INT64_MAX)}), parameter("D", {number(0), number(-1)})},
                    {}, {});
  const Features features(space);
  for (std::uint64_t i = 0; i < space.size(); ++i)
    for (const float value : plain(features, space, i)) CHECK((value >= 0 && value <= 1));
}

TEST_CASE("a Gaussian process says what the formulas say, however its points and pool came in") {
  const std::vector<float> points{0.1f, 0.2f, 0.8f, 0.3f, 0.4f, 0.9f};
  const std::vector<float> pool{0.1f, 0.2f, 0.5f, 0.5f, 0.9f, 0.1f, 0.0f, 1.0f};
  const std::vector<float> targets{1, -1, 0.5f};
  GaussianProcess process(2);
  const std::vector<double> scales = process.scales();
  process.set_pool(std::span(pool).first(4));
  process.add_point(points.data());
  process.add_candidates(std::span(pool).subspan(4));
  process.add_point(points.data() + 2);
  process.add_point(points.data() + 4);
  const std::vector<float> mean = process.mean(targets);

  const auto kernel = [&](const float* a, const float* b) {
    return matern(std::hypot((a[0] - b[0]) * scales[0], (a[1] - b[1]) * scales[1]));
  };
  // Gaussian elimination of (K + noise) x = right, for the targets and for each candidate's covariances.
  const auto solve = [&](std::array<double, 3> right) {
    std::array<std::array<double, 3>, 3> k{};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        k[i][j] = kernel(&points[2 * i], &points[2 * j]) + (i == j ? process.noise() : 0);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t r = 0; r < 3; ++r) {
        if (r == i) continue;
        const double factor = k[r][i] / k[i][i];
        for (std::size_t c = 0; c < 3; ++c) k[r][c] -= factor * k[i][c];
        right[r] -= factor * right[i];
      }
    for (std::size_t i = 0; i < 3; ++i) right[i] /= k[i][i];
    return right;
  };
  const auto weights = solve({1, -1, 0.5});
  for (std::size_t candidate = 0; candidate < 4; ++candidate) {
    std::array<double, 3> covariance{};
    for (std::size_t i = 0; i < 3; ++i) covariance[i] = kernel(&pool[2 * candidate], &points[2 * i]);
    const auto projected = solve(covariance);
    CHECK(mean[candidate] ==
          doctest::Approx(std::inner_product(weights.begin(), weights.end(), covariance.begin(), 0.0)).epsilon(1e-3));
    CHECK(process.variance()[candidate] ==
          doctest::Approx(1 - std::inner_product(projected.begin(), projected.end(), covariance.begin(), 0.0))
              .epsilon(1e-2));
  }
}

TEST_CASE("a point without a target makes the pool surer and changes no mean") {
  const std::vector<float> points{0.2f, 0.7f}, pool{0.0f, 0.5f, 0.65f, 1.0f};
  GaussianProcess process(1);
  process.set_pool(pool);
  process.add_point(&points[0]);
  const auto mean = process.mean(std::vector<float>{2});
  const auto variance = process.variance();
  process.add_point(&points[1]);
  const auto later = process.mean(std::vector<float>{2, NAN});
  for (std::size_t i = 0; i < pool.size(); ++i) {
    CHECK(later[i] == mean[i]);
    CHECK(process.variance()[i] <= variance[i]);
  }
  CHECK(process.variance()[2] < 0.5 * variance[2]);
}

TEST_CASE("a Gaussian process learns which feature matters") {
  Random random(3);
  std::vector<float> points, targets;
  for (int i = 0; i < 60; ++i) {
    const auto a = static_cast<float>(random.uniform()), b = static_cast<float>(random.uniform());
    points.insert(points.end(), {a, b});
    targets.push_back(std::sin(6 * a));
  }
  GaussianProcess process(2);
  process.learn_lengths(points, targets, 30);
  CHECK(process.scales()[0] > 3 * process.scales()[1]);
}

TEST_CASE("a Gaussian process takes equal points, equal targets and no features") {
  GaussianProcess process(1);
  const std::vector<float> points{0.5f, 0.5f, 0.5f, 0.5f}, pool{0.5f, 0.6f};
  process.learn_lengths(points, std::vector<float>(4, 0), 10);
  process.set_pool(pool);
  for (int i = 0; i < 4; ++i) process.add_point(points.data());
  for (const float mean : process.mean(std::vector<float>(4, 0))) CHECK(mean == 0);
  for (const float variance : process.variance()) CHECK((variance > 0 && variance <= 1));
  GaussianProcess none(0);
  none.learn_lengths({}, std::vector<float>{1, 2, 3, 4}, 5);
  none.set_pool({});
  CHECK(none.mean({}).empty());
}

TEST_CASE("trees find the step, and disagree where they know little") {
  Random random(7);
  std::vector<float> points, targets;
  for (int i = 0; i < 200; ++i) {
    const auto a = static_cast<float>(random.uniform()), b = static_cast<float>(random.uniform());
    points.insert(points.end(), {a, b});
    targets.push_back(a < 0.5f ? 1.0f : 3.0f);
  }
  ExtraTrees trees;
  CHECK(trees.predict(points.data()).mean == 0);
  trees.fit(points, targets, 2, {}, random);
  const float low[] = {0.2f, 0.5f}, high[] = {0.8f, 0.5f}, edge[] = {0.5f, 0.5f};
  CHECK(trees.predict(low).mean == doctest::Approx(1).epsilon(0.05));
  CHECK(trees.predict(high).mean == doctest::Approx(3).epsilon(0.05));
  CHECK(trees.predict(edge).variance > trees.predict(low).variance);
}

TEST_CASE("a soft logarithm keeps the order and presses the slow together") {
  const std::vector<double> times{1, 1.1, 1.2, 1.5, 2, 3, 50, 100, 1000};
  const SoftLogarithm logarithm(times);
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(logarithm(times[i - 1]) < logarithm(times[i]));
  CHECK(logarithm(1.2) - logarithm(1.0) == doctest::Approx(std::log(1.2)));
  CHECK(logarithm(1000) - logarithm(100) < 0.2 * std::log(10.0));
  CHECK(SoftLogarithm(std::vector<double>{5})(5) == doctest::Approx(std::log(5)));
}

TEST_CASE("a lesson takes failures for no times, and bounds for what they are worth") {
  const Space space({parameter("A", {number(1), number(2), number(3), number(4), number(5), number(6)})}, {}, {});
  using Kind = SearchResult::Kind;
  const std::vector<SearchResult> results{{0, Kind::measured, 2}, {1, Kind::failed, 0},     {2, Kind::measured, 1},
                                          {3, Kind::bound, 1.5},  {4, Kind::bound, 0.0001}, {5, Kind::measured, 1.8}};
  const Lesson lesson(results);
  CHECK(lesson.failed() == std::vector<std::uint64_t>{1});
  CHECK(lesson.timed().front() == 2);
  CHECK(lesson.best() == doctest::Approx(lesson.target(2)));
  CHECK(std::isnan(lesson.target(1)));
  CHECK(lesson.target(3) > lesson.target(2));
  CHECK(lesson.target(3) < lesson.target(0));
  CHECK(lesson.target(4) > lesson.target(3));  // its bound has no information, so it counts as average
  CHECK(lesson.failure(1) == doctest::Approx(5.0 / 6));
  CHECK(lesson.failure(0) == doctest::Approx(-1.0 / 6));
}

TEST_CASE("a lesson trusts a model of the hardware as far as the results agree with it") {
  using Kind = SearchResult::Kind;
  std::vector<SearchResult> results;
  for (std::uint64_t i = 0; i < 8; ++i) results.push_back({i, Kind::measured, 1 + 0.05 * static_cast<double>(i)});
  const auto explained = [&](const Lesson::Estimate& estimate) {
    const Lesson lesson(results, estimate);
    CHECK(lesson.best() == doctest::Approx(lesson.target(0) + lesson.explained(0)));
    return lesson.explained(7) - lesson.explained(0);
  };
  const float all = explained([&](std::uint64_t index) { return 100 * results[index].time_ms; });
  CHECK(Lesson(results).explained(3) == 0);
  const Lesson right(results, [&](std::uint64_t index) { return 100 * results[index].time_ms; });
  CHECK(right.target(7) == doctest::Approx(right.target(0)));  // nothing is left to learn
  CHECK(all > 0);
  CHECK(explained([&](std::uint64_t index) { return 1 / std::pow(results[index].time_ms, 4); }) == 0);
  // What cannot run, as far as the model knows, is expected where slowness stops to matter.
  const Lesson unknown(results, [&](std::uint64_t index) { return index == 3 ? NAN : results[index].time_ms; });
  CHECK(unknown.explained(3) > unknown.explained(1));
}

TEST_CASE("the initial design begins in the middle and spreads") {
  std::vector<Value> values;
  for (int i = -50; i <= 50; ++i) values.push_back(number(i));
  const Space space({parameter("A", values), parameter("B", values)}, {}, {});
  const Features features(space);
  const Prior none;
  InitialDesign design(space, features, none);
  Random random(5);
  std::vector<std::vector<float>> points;
  for (int i = 0; i < 6; ++i) points.push_back(plain(features, space, *design.next(random)));
  CHECK(std::hypot(points[0][0] - 0.5f, points[0][1] - 0.5f) < 0.2f);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      CHECK(std::hypot(points[i][0] - points[j][0], points[i][1] - points[j][1]) > 0.2f);
}

TEST_CASE("steps and walks stay in the space") {
  std::vector<Value> values;
  for (int i = 0; i < 12; ++i) values.push_back(number(i));
  const Space space({parameter("A", values), parameter("B", values), parameter("C", values)},
                    {Expression::parse("(A + B) % 3 != 1"), Expression::parse("B <= C")}, {});
  Random random(9);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t from = random.below(space.size());
    const auto to = random_step(space, from, random);
    REQUIRE(to);
    CHECK(hamming_distance(space.value_indices(from), space.value_indices(*to)) == 1);
    const Digits wanted{static_cast<std::uint32_t>(random.below(12)), static_cast<std::uint32_t>(random.below(12)),
                        static_cast<std::uint32_t>(random.below(12))};
    const std::uint64_t walked = walk_towards(space, from, wanted, random);
    CHECK(hamming_distance(space.value_indices(walked), wanted) <= hamming_distance(space.value_indices(from), wanted));
    if (const auto there = space.index_of(wanted)) CHECK(walked == *there);
  }
  const Space one({parameter("A", {number(1)})}, {}, {});
  CHECK(!random_step(one, 0, random));
}
