// The finals: the fastest, ties, and the rate of errors on noisy devices.
#include "core/measure/finals.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "fakes/noise.hpp"

using namespace xtune::measure;

namespace {

using namespace xtune;
using fakes::Noise;
using fakes::NoisyDevice;

std::vector<std::size_t> everyone(std::size_t count) {
  std::vector<std::size_t> members(count);
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

std::vector<std::vector<double>> play(NoisyDevice& device, const std::vector<double>& true_ms, std::size_t rounds) {
  std::vector<std::vector<double>> samples(true_ms.size());
  for (std::size_t round = 0; round < rounds; ++round)
    for (const std::size_t i : finals_order(everyone(true_ms.size()), 1, round))
      samples[i].push_back(device.launch_ms(true_ms[i]));
  return samples;
}

}  // namespace

TEST_CASE("The fastest, its ties and the slower ones are distinguished") {
  const std::vector<std::vector<double>> samples{std::vector<double>(12, 1.02),
                                                 std::vector<double>(12, 1.0),
                                                 std::vector<double>(12, 1.009),
                                                 {},
                                                 std::vector<double>(5, 3.0)};
  const FinalsVerdict verdict = judge_finals(samples);
  CHECK(verdict.standing ==
        std::vector<Standing>{Standing::slower, Standing::fastest, Standing::equal, Standing::out, Standing::slower});
  // Five rounds show it, and are too few to be sure of it.
  CHECK(verdict.certain == std::vector<bool>{true, true, true, false, false});
  CHECK_FALSE(verdict.decided);
}

TEST_CASE("No finalist is judged before ten rounds; no finalists give no verdict") {
  for (std::size_t rounds = 1; rounds < 20; ++rounds) {
    CAPTURE(rounds);
    const std::vector<std::vector<double>> samples{std::vector<double>(rounds, 2.0), std::vector<double>(rounds, 1.0)};
    CHECK(judge_finals(samples).decided == (rounds >= 10));
  }
  CHECK_FALSE(judge_finals({}).decided);
  CHECK(judge_finals(std::vector<std::vector<double>>(2)).standing == std::vector<Standing>(2, Standing::out));
}

TEST_CASE("A finalist that left early is no longer the fastest, with any times") {
  const std::vector<std::vector<double>> samples{std::vector<double>(10, 0.5), std::vector<double>(20, 1.0)};
  CHECK(judge_finals(samples).standing[1] == Standing::fastest);
}

TEST_CASE("A finalist that is not proved slower is a tie") {
  std::vector<double> steady, wild;
  for (int i = 0; i < 20; ++i) {
    steady.push_back(1.0);
    wild.push_back(i % 5 < 2 ? 0.9 : 1.3);
  }
  const FinalsVerdict verdict = judge_finals(std::vector<std::vector<double>>{steady, wild});
  CHECK(verdict.standing[1] == Standing::tied);
  CHECK_FALSE(verdict.certain[1]);
}

TEST_CASE(
    "The fastest is so by the statistic that is asked for; where it and the rounds disagree, nothing is certain") {
  // Of least median, of least mean and of least minimum.
  std::vector<std::vector<double>> samples(3);
  for (int i = 0; i < 20; ++i) {
    samples[0].push_back(i % 4 == 0 ? 3.0 : 1.0);
    samples[1].push_back(1.1);
    samples[2].push_back(i % 4 == 1 ? 0.5 : 1.6);
  }
  using enum Standing;
  CHECK(judge_finals(samples).standing[0] == fastest);
  const FinalsVerdict mean = judge_finals(samples, Statistic::mean), min = judge_finals(samples, Statistic::min);
  // Slower in three rounds of four is not proven by twenty, and the first is faster in most.
  CHECK(mean.standing == std::vector<Standing>{tied, fastest, tied});
  CHECK(min.standing == std::vector<Standing>{tied, tied, fastest});
  CHECK_FALSE(min.decided);
  samples[2] = std::vector<double>(20, 1.2);
  CHECK(judge_finals(samples, Statistic::mean).certain == std::vector<bool>{false, true, true});
  samples[2][7] = 1.1;
  const FinalsVerdict equal_minima = judge_finals({{samples[1], samples[2]}}, Statistic::min);
  CHECK(equal_minima.standing == std::vector<Standing>{fastest, equal});
  CHECK_FALSE(equal_minima.certain[1]);
}

TEST_CASE("What is maximised compares by the inverse; without ratios all are tied") {
  const auto judge = [](double a, double b) {
    return judge_finals(std::vector<std::vector<double>>{std::vector<double>(12, a), std::vector<double>(12, b)});
  };
  using enum Standing;
  CHECK(judge(-5, -5.2).standing == std::vector<Standing>{slower, fastest});
  CHECK(judge(-5, -5.2).decided);
  CHECK(judge(-5, -5.04).standing == std::vector<Standing>{equal, fastest});
  for (const double other : {5.0, double{HUGE_VAL}, double{NAN}}) {
    CHECK(judge(-5, other).standing == std::vector<Standing>{tied, tied});
    CHECK_FALSE(judge(-5, other).decided);
  }
}

TEST_CASE("Orders are permutations, differ from round to round, and repeat with the seed") {
  std::set<std::vector<std::size_t>> orders;
  std::vector<std::size_t> first_of(4);
  for (std::size_t round = 0; round < 400; ++round) {
    const std::vector<std::size_t> order = finals_order({4, 5, 6, 7}, 3, round);
    CHECK(std::set<std::size_t>(order.begin(), order.end()) == std::set<std::size_t>{4, 5, 6, 7});
    CHECK(order == finals_order({4, 5, 6, 7}, 3, round));
    orders.insert(order);
    ++first_of[order[0] - 4];
  }
  CHECK(orders.size() == 24);
  for (const std::size_t count : first_of) CHECK(count > 60);
}

TEST_CASE("On noisy, drifting devices a clear winner wins, and equals are hardly ever called slower") {
  Noise drifting;
  drifting.drift = 0.05;
  drifting.drift_launches = 150;
  Noise rough;
  rough.spread = 0.03;
  rough.spike_rate = 0.02;
  for (const Noise& noise : {Noise{}, drifting, rough}) {
    NoisyDevice device(noise, 7);
    int wrong_winner = 0, equal_called_slower = 0;
    const int times = 400;
    for (int i = 0; i < times; ++i) {
      const FinalsVerdict verdict = judge_finals(play(device, {1.03, 1.0, 1.0, 1.04}, 50));
      wrong_winner += verdict.standing[0] != Standing::slower || verdict.standing[3] != Standing::slower;
      equal_called_slower += verdict.standing[1] == Standing::slower || verdict.standing[2] == Standing::slower;
    }
    CHECK(equal_called_slower <= times / 50);
    CHECK(wrong_winner <= (noise.spread > 0.01 ? times / 8 : 0));
  }
}
