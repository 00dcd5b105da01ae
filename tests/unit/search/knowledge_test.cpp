// Searches that start from knowledge: places to try first, and results of other devices.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.hpp"
#include "core/search/strategy.hpp"

using namespace xtune::base;
using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

Space space_with_switch() {
  std::vector<Parameter> parameters;
  for (const char* name : {"A", "B", "C", "D"}) {
    Parameter parameter{name, {}, true};
    for (int i = 0; i < 8; ++i) parameter.values.emplace_back(std::int64_t{1} << i);
    parameters.push_back(parameter);
  }
  parameters.push_back({"SWITCH", {false, true}, true});
  return Space(parameters, {}, {});
}

// Two implementations in the kernel, each with its own minimum; `shift` moves the minima as another device would.
double switched_time(const Space& space, std::uint64_t index, double shift, bool prefers_switch) {
  const auto digits = space.value_indices(index);
  const bool on = digits[4] == 1;
  double square = 0;
  for (std::size_t i = 0; i < 4; ++i)
    square += std::pow(digits[i] - (on ? 5.0 : 2.0) - shift * (i % 2 == 0 ? 1 : -1), 2);
  return (on == prefers_switch ? 1.0 : 1.6) * (1 + 0.15 * square) * (1 + 0.01 * static_cast<double>(mix64(index) % 8));
}

Source source_of(const Space& space, const std::string& name, double shift, bool prefers_switch, std::size_t every) {
  Source source{name, {}};
  for (std::uint64_t i = 0; i < space.size(); i += every)
    source.observations.push_back({i, Outcome::ok, 3 * switched_time(space, i, shift, prefers_switch)});
  return source;
}

double best_after(const std::string& strategy, const Space& space, std::uint64_t evals, std::uint64_t seed,
                  const std::vector<Source>& sources) {
  const auto search = make_strategy(strategy, {space, seed, evals, {}, sources});
  double best = INFINITY;
  for (;;) {
    const auto proposals = search->propose(1);
    if (proposals.empty()) return best;
    const double time = switched_time(space, proposals.front(), 0, true);
    best = std::min(best, time);
    search->observe({proposals.front(), Outcome::ok, time});
  }
}

double mean_best(const std::string& strategy, const Space& space, std::uint64_t evals,
                 const std::vector<Source>& sources) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) sum += best_after(strategy, space, evals, seed, sources) / 6;
  return sum;
}

}  // namespace

TEST_CASE("every strategy tries the given configurations first, once, within the budget") {
  const Space space = space_with_switch();
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto search = make_strategy(name, {space, 3, 20, {70, 5, 70, space.size() + 4, 900}});
    std::vector<std::uint64_t> proposed;
    for (auto more = search->propose(7); !more.empty(); more = search->propose(7))
      for (const std::uint64_t index : more) {
        proposed.push_back(index);
        search->observe({index, Outcome::ok, switched_time(space, index, 0, true)});
      }
    CHECK(std::vector<std::uint64_t>(proposed.begin(), proposed.begin() + 3) == std::vector<std::uint64_t>{70, 5, 900});
    CHECK(proposed.size() == 20);
    CHECK(std::set<std::uint64_t>(proposed.begin(), proposed.end()).size() == 20);
    CHECK(make_strategy(name, {space, 3, 2, {70, 5, 900}})->propose(9) == std::vector<std::uint64_t>{70, 5});
  }
}

TEST_CASE("all of a small space is visited whatever is to be first") {
  const Space space({Parameter{"A", {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}, true}}, {}, {});
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto proposed = make_strategy(name, {space, 1, 10, {2, 1}})->propose(10);
    CHECK(std::set<std::uint64_t>(proposed.begin(), proposed.end()) == std::set<std::uint64_t>{0, 1, 2});
    CHECK(proposed.front() == 2);
  }
}

TEST_CASE("another device's results lead there sooner, complete or in part") {
  const Space space = space_with_switch();
  for (const char* name : {"auto", "genetic", "forest"}) {
    CAPTURE(name);
    const double cold = mean_best(name, space, 12, {});
    for (const std::size_t every : {std::size_t{1}, std::size_t{13}}) {
      CAPTURE(every);
      CHECK(mean_best(name, space, 12, {source_of(space, "near", 0.4, true, every)}) < 0.9 * cold);
    }
  }
}

TEST_CASE("a model of the hardware leads there sooner, and one that is wrong costs little") {
  const Space space = space_with_switch();
  // Estimates: alike but for the switch, and the opposite of the truth. Twelve configurations are always under way.
  const auto model = [&](bool right) {
    Prior prior{[&space, right](std::uint64_t index) {
                  const double time = switched_time(space, index, 0.6, false);
                  return right ? 0.01 * time : 1 / time;
                },
                {}};
    for (std::uint64_t index = 0; index < space.size(); ++index) prior.best.push_back(index);
    std::sort(prior.best.begin(), prior.best.end(),
              [&](std::uint64_t a, std::uint64_t b) { return prior.time_ms(a) < prior.time_ms(b); });
    prior.best.resize(400);
    return prior;
  };
  const auto mean_best_of = [&](const Prior& prior, std::uint64_t evals) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const auto search = make_strategy("auto", {space, seed, evals, {}, {}, prior});
      std::vector<std::uint64_t> under_way = search->propose(12);
      double best = INFINITY;
      while (!under_way.empty()) {
        const double time = switched_time(space, under_way.front(), 0, true);
        best = std::min(best, time);
        search->observe({under_way.front(), Outcome::ok, time});
        under_way.erase(under_way.begin());
        for (const std::uint64_t index : search->propose(1)) under_way.push_back(index);
      }
      sum += best / 6;
    }
    return sum;
  };
  CHECK(mean_best_of(model(true), 20) < 0.8 * mean_best_of({}, 20));
  CHECK(mean_best_of(model(false), 80) < 1.1 * mean_best_of({}, 80));
}

TEST_CASE("with another device's results, fifteen evaluations reach what takes thirty without") {
  const Space space = space_with_switch();
  CHECK(mean_best("auto", space, 15, {source_of(space, "near", 0.4, true, 1)}) <= mean_best("auto", space, 30, {}));
}

TEST_CASE("a device that prefers the other way through the kernel does not keep the search from the right one") {
  const Space space = space_with_switch();
  const std::vector<Source> sources{source_of(space, "other", 0, false, 1)};
  CHECK(mean_best("auto", space, 10, sources) < 1.2);
}

TEST_CASE("a device that misleads costs little") {
  const Space space = space_with_switch();
  Source opposite{"opposite", {}}, noise{"noise", {}};
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    opposite.observations.push_back({i, Outcome::ok, 1 / switched_time(space, i, 0, true)});
    noise.observations.push_back({i, Outcome::ok, 1 + static_cast<double>(mix64(i) % 1000)});
  }
  const double cold = mean_best("auto", space, 60, {});
  CHECK(mean_best("auto", space, 60, {opposite}) < 1.05 * cold);
  CHECK(mean_best("auto", space, 60, {noise}) < 1.05 * cold);
  CHECK(mean_best("auto", space, 60, {opposite, noise}) < 1.05 * cold);
}

TEST_CASE("sources of nothing but failures, odd times and foreign indices say nothing") {
  const Space space = space_with_switch();
  Source odd{"odd", {}};
  for (std::uint64_t i = 0; i < 50; ++i) odd.observations.push_back({i, Outcome::crashed, 1});
  for (std::uint64_t i = 50; i < 100; ++i) odd.observations.push_back({i, Outcome::ok, i % 2 == 0 ? NAN : -1.0});
  for (std::uint64_t i = 0; i < 50; ++i) odd.observations.push_back({space.size() + i, Outcome::ok, 1});
  for (int i = 0; i < 50; ++i) odd.observations.push_back({7, Outcome::ok, 1});
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    CHECK(best_after(name, space, 25, 1, {odd, {"empty", {}}}) == best_after(name, space, 25, 1, {}));
  }
}
