// Properties of every strategy: uses its budget exactly, repeats nothing, for any batch and any order of results.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.hpp"
#include "core/search/samples.hpp"
#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

Space constrained_space(int size) {
  std::vector<Parameter> parameters;
  for (const char* name : {"A", "B", "C", "D"}) {
    Parameter parameter{name, {}, true};
    for (std::int64_t value = 0; value < size; ++value) parameter.values.emplace_back(value);
    parameters.push_back(parameter);
  }
  return Space(parameters, {Expression::parse("(A + B) % 3 != 1"), Expression::parse("C <= D + 2")}, {});
}

// A rugged bowl with its bottom off the corners, where every seventh configuration or so fails in one way or another.
Observation fake_measurement(const Space& space, std::uint64_t index) {
  const auto digits = space.value_indices(index);
  double time = 1;
  for (std::size_t i = 0; i < digits.size(); ++i)
    time += std::pow(static_cast<double>(digits[i]) - 2.0 - static_cast<double>(i % 2), 2);
  time *= 1 + 0.05 * static_cast<double>(mix64(index) % 100) / 100;
  constexpr Outcome failures[] = {Outcome::rejected, Outcome::compile_failed, Outcome::wrong_result, Outcome::timed_out,
                                  Outcome::crashed,  Outcome::launch_failed,  Outcome::pruned};
  if (mix64(index + 99) % 7 == 0) return {index, failures[mix64(index + 5) % 7], 0.001};
  return {index, Outcome::ok, time};
}

struct Run {
  std::vector<std::uint64_t> proposed;
  double best = INFINITY;
};

// Keeps up to `batch` configurations under way and hands the results back in an order drawn from `shuffle`.
Run run(const std::string& name, const Space& space, std::uint64_t seed, std::uint64_t evals, std::size_t batch,
        std::uint64_t shuffle) {
  const auto strategy = make_strategy(name, space, seed, evals);
  Random random(shuffle);
  std::vector<std::uint64_t> under_way;
  Run result;
  for (;;) {
    const std::size_t room = batch - under_way.size();
    const auto proposals = strategy->propose(room);
    REQUIRE(proposals.size() <= room);
    result.proposed.insert(result.proposed.end(), proposals.begin(), proposals.end());
    under_way.insert(under_way.end(), proposals.begin(), proposals.end());
    if (under_way.empty()) break;
    const std::size_t pick = shuffle == 0 ? 0 : random.below(under_way.size());
    const Observation observation = fake_measurement(space, under_way[pick]);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(pick));
    strategy->observe(observation);
    if (observation.outcome == Outcome::ok) result.best = std::min(result.best, observation.time_ms);
  }
  return result;
}

void check_budget(const Run& result, const Space& space, std::uint64_t evals) {
  CHECK(result.proposed.size() == std::min(evals, space.size()));
  CHECK(std::set<std::uint64_t>(result.proposed.begin(), result.proposed.end()).size() == result.proposed.size());
  for (const std::uint64_t index : result.proposed) REQUIRE(index < space.size());
}

}  // namespace

TEST_CASE("every strategy uses its whole budget, without repetition, in any batch and order") {
  const Space space = constrained_space(4);
  REQUIRE(space.size() > 100);
  for (const std::string& name : strategy_names())
    for (const std::uint64_t evals :
         {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{50}, space.size() - 1, space.size(), space.size() + 10})
      for (const std::size_t batch : {std::size_t{1}, std::size_t{5}, std::size_t{64}})
        for (const std::uint64_t shuffle : {0, 3}) {
          if (batch == 1 && shuffle != 0) continue;  // one result has one order
          CAPTURE(name);
          CAPTURE(evals);
          CAPTURE(batch);
          check_budget(run(name, space, 11, evals, batch, shuffle), space, evals);
        }
}

TEST_CASE("every strategy repeats itself for the same seed and observations") {
  const Space space = constrained_space(6);
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto proposed = run(name, space, 5, 100, 8, 4).proposed;
    CHECK(proposed == run(name, space, 5, 100, 8, 4).proposed);
    if (name != "exhaustive") CHECK(proposed != run(name, space, 6, 100, 8, 4).proposed);
  }
}

TEST_CASE("a strategy that learns proposes what it is offered next, once and within its budget") {
  const Space space = constrained_space(5);
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto strategy = make_strategy(name, space, 3, 5);
    if (strategy->sequence()) {
      CHECK_FALSE(strategy->offer(17));
      continue;
    }
    const std::uint64_t first = strategy->propose(1).at(0);
    CHECK_FALSE(strategy->offer(first));
    CHECK_FALSE(strategy->offer(space.size()));
    const std::uint64_t wanted = first == 17 ? 18 : 17;
    CHECK(strategy->offer(wanted));
    CHECK(strategy->propose(1) == std::vector<std::uint64_t>{wanted});
    CHECK_FALSE(strategy->offer(wanted));
    strategy->observe(fake_measurement(space, wanted));
    CHECK(strategy->propose(10).size() == 3);
    CHECK(strategy->propose(10).empty());
  }
}

TEST_CASE("every strategy goes on when everything fails, and when nothing is observed") {
  const Space space = constrained_space(5);
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    for (const bool observe : {true, false}) {
      const auto strategy = make_strategy(name, space, 1, 120);
      std::set<std::uint64_t> seen;
      for (int round = 0; round < 1000 && seen.size() < 120; ++round)
        for (const std::uint64_t index : strategy->propose(3)) {
          CHECK(seen.insert(index).second);
          if (observe) strategy->observe({index, Outcome::crashed, 0});
        }
      CHECK(seen.size() == 120);
      CHECK(strategy->propose(10).empty());
    }
  }
}

TEST_CASE("every strategy takes tiny and empty requests, and foreign observations") {
  const Space space = constrained_space(4);
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    CHECK(make_strategy(name, space, 1, 0)->propose(10).empty());
    const auto strategy = make_strategy(name, space, 1, 20);
    CHECK(strategy->propose(0).empty());
    strategy->observe({3, Outcome::ok, 1.0});  // measured by an earlier run
    strategy->observe({3, Outcome::ok, 1.0});
    std::set<std::uint64_t> seen;
    for (;;) {
      const auto proposals = strategy->propose(4);
      if (proposals.empty()) break;
      for (const std::uint64_t index : proposals) {
        CHECK(seen.insert(index).second);
        strategy->observe(fake_measurement(space, index));
      }
    }
    CHECK(seen.size() == 20);
  }
}

TEST_CASE("times that no clock gives are failures") {
  const Space space = constrained_space(5);
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto with = make_strategy(name, space, 4, 60);
    const auto without = make_strategy(name, space, 4, 60);
    constexpr double odd[] = {NAN, -1, 0, INFINITY, -INFINITY};
    for (std::size_t i = 0; i < 60; ++i) {
      const auto a = with->propose(1), b = without->propose(1);
      REQUIRE(a == b);
      REQUIRE(a.size() == 1);
      const Observation measured = fake_measurement(space, a.front());
      const bool fails = mix64(i) % 3 == 0;
      with->observe(fails ? Observation{a.front(), Outcome::ok, odd[i % 5]} : measured);
      without->observe(fails ? Observation{a.front(), Outcome::crashed, 0} : measured);
    }
  }
}

TEST_CASE("a learning strategy meets fewer failures than a random search") {
  std::vector<Parameter> parameters;
  for (const char* parameter : {"A", "B", "C"}) {
    parameters.push_back({parameter, {}, true});
    for (int i = 0; i < 10; ++i) parameters.back().values.emplace_back(std::int64_t{1} << i);
  }
  const Space space(parameters, {}, {});
  // Too large a product fails, and the closer to that, the faster.
  const auto failures_of = [&](const std::string& name) {
    std::size_t failures = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const auto strategy = make_strategy(name, space, seed, 100);
      for (auto proposals = strategy->propose(1); !proposals.empty(); proposals = strategy->propose(1)) {
        const auto digits = space.value_indices(proposals.front());
        const auto sum = digits[0] + digits[1] + digits[2];
        failures += sum > 13 ? 1 : 0;
        strategy->observe({proposals.front(), sum > 13 ? Outcome::rejected : Outcome::ok,
                           100.0 / (1 + sum) * (1 + 0.2 * static_cast<double>(mix64(proposals.front()) % 8))});
      }
    }
    return failures;
  };
  const std::size_t chance = failures_of("random");
  for (const char* name : {"auto", "forest", "genetic", "local", "portfolio"}) {
    CAPTURE(name);
    CHECK(failures_of(name) < chance);
  }
}

TEST_CASE("a space of one configuration") {
  const Space space({Parameter{"A", {std::int64_t{1}}, true}}, {}, {});
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    CHECK(make_strategy(name, space, 1, 100)->propose(5) == std::vector<std::uint64_t>{0});
  }
}

TEST_CASE("every strategy but exhaustive searches a space of 10^12 without listing it") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 12; ++i) {
    Parameter parameter{"P" + std::to_string(i), {}, true};
    for (std::int64_t value = 0; value < 10; ++value) parameter.values.emplace_back(value);
    parameters.push_back(parameter);
  }
  const Space space(parameters, {}, {});
  for (const std::string& name : strategy_names()) {
    if (name == "exhaustive") continue;
    const auto strategy = make_strategy(name, space, 1, 300);
    std::set<std::uint64_t> seen;
    for (auto proposals = strategy->propose(64); !proposals.empty(); proposals = strategy->propose(64))
      for (const std::uint64_t index : proposals) {
        seen.insert(index);
        strategy->observe({index, Outcome::ok, 1 + static_cast<double>(mix64(index) % 1000)});
      }
    CHECK(seen.size() == 300);
    CHECK(*seen.rbegin() > space.size() / 2);
  }
}

TEST_CASE("learning pays: every strategy that learns beats random on a bowl") {
  const Space space = constrained_space(12);
  const auto mean_best = [&](const std::string& name) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) sum += run(name, space, seed, 100, 4, seed).best / 6;
    return sum;
  };
  const double random = mean_best("random");
  for (const std::string& name : strategy_names()) {
    if (name == "random" || name == "exhaustive") continue;
    CAPTURE(name);
    CHECK(mean_best(name) < 0.85 * random);
  }
}

TEST_CASE("exhaustive goes in the order of the space") {
  const Space space = constrained_space(4);
  CHECK(make_strategy("exhaustive", space, 9, 5)->propose(100) == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("an unknown strategy names the nearest") {
  const Space space = constrained_space(3);
  try {
    make_strategy("randon", space, 1, 10);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK(std::string(error.what()) ==
          "unknown strategy 'randon' (did you mean 'random'?); one of auto, exhaustive, random, local, "
          "annealing, genetic, differential_evolution, particle_swarm, bayesian, forest, portfolio");
  }
}

TEST_CASE("a permutation is one, of any size, and depends on its seed") {
  for (const std::uint64_t size : {1, 2, 3, 5, 16, 17, 1000, 4097}) {
    CAPTURE(size);
    const Permutation permutation(size, 42);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(size, 1000); ++i)
      CHECK(permutation.position_of(permutation(i)) == i);
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < size; ++i) images.insert(permutation(i));
    CHECK(images.size() == size);
    CHECK(*images.rbegin() == size - 1);
  }
  std::uint64_t same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) same += Permutation(1000, 1)(i) == Permutation(1000, 2)(i);
  CHECK(same < 20);
}
