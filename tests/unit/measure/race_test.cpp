// The race: its margins, how often it loses the best on noisy devices, and its savings.
#include "core/measure/race.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "fakes/fake_clock.hpp"
#include "fakes/noise.hpp"

using namespace xtune::base;
using namespace xtune::measure;

namespace {

using namespace xtune;
using fakes::Noise;
using fakes::NoisyDevice;

const Incumbent one_ms{1.0, 1.02};

bool lost(std::size_t count, double time_ms, double first_ms = 0, double roughness = 0) {
  return Race(one_ms, roughness).lost(std::vector<double>(count, time_ms), first_ms);
}

Incumbent incumbent_of(const Summary& summary) { return {summary.median, summary.q3}; }

std::map<std::string, Noise> noises() {
  Noise quiet, spiky, bursty, rough;
  quiet.spread = 0.0005;
  spiky.spike_rate = 0.01;
  bursty.burst_rate = 0.01;
  rough.spread = 0.05;
  rough.jitter = 0.02;
  rough.spike_rate = 0.01;
  rough.burst_rate = 0.005;
  return {{"quiet", quiet}, {"usual", Noise{}}, {"spiky", spiky}, {"bursty", bursty}, {"rough", rough}};
}

struct Contest {
  NoisyDevice device;
  fakes::FakeClock clock;
  StoppingRule rule;
  double busy_ms = 0;  ///< of all launches, the one that validates and the warm-ups included
  Roughness roughness{};
  Series measure(double true_ms, const std::optional<Incumbent>& incumbent = {}) {
    const auto launch = [&] {
      const double time_ms = device.launch_ms(true_ms);
      busy_ms += time_ms;
      return time_ms;
    };
    const double first_ms = launch();
    const auto warm_up = [&](int launches) {
      for (int i = 0; i < launches; ++i) launch();
    };
    return measure_challenger({launch, warm_up, 3, first_ms}, rule, Budget(clock, 30), incumbent, roughness);
  }
};

}  // namespace

TEST_CASE("An incumbent is beaten by no less than what ranks it") {
  const Summary summary = summarize(std::vector<double>{1, 1, 1, 1, 6});
  CHECK(incumbent_of(summary, summary.median).q3_ms == 1);
  CHECK(incumbent_of(summary, summary.mean).q3_ms == 2);
  CHECK(incumbent_of(summary, summary.mean).median_ms == 1);
}

TEST_CASE("The margin falls with the number of launches, and grows with the device's roughness") {
  for (const double roughness : {0.0, 0.01, 0.1})
    for (std::size_t count = 2; count <= 60; ++count) {
      CAPTURE(roughness);
      CAPTURE(count);
      const double share = count < 3    ? std::max(0.05, 1.5 * roughness)
                           : count < 5  ? std::max(0.03, 1.3 * roughness)
                           : count < 10 ? std::max(0.015, 1.2 * roughness)
                                        : 0.005;
      const double margin = 1.02 * (1 + share);
      CHECK_FALSE(lost(count, margin * 0.9999, 0, roughness));
      CHECK(lost(count, margin * 1.0001, 0, roughness));
      std::vector<double> samples(count, 100.0);
      samples[count / 2] = margin * 0.9999;  // one fast launch is enough to stay
      CHECK_FALSE(Race(one_ms, roughness).lost(samples));
    }
  CHECK_FALSE(Race(one_ms, 0).lost({}, 100));
}

TEST_CASE("A single launch never decides; the one before the samples counts where it was long") {
  CHECK_FALSE(lost(1, 6));
  CHECK(lost(1, 6, 6));
  CHECK_FALSE(lost(1, 6, 1.05));
  const Race microseconds(Incumbent{0.001, 0.001}, 0);
  CHECK_FALSE(microseconds.lost(std::vector<double>{0.5}, 0.5));
  CHECK(microseconds.lost(std::vector<double>{0.5, 0.5}, 0.5));
  // Nor does a fast one speak for the challenger that is too short to be trusted.
  CHECK(microseconds.lost(std::vector<double>{0.5, 0.5}, 0.0005));
}

TEST_CASE("Roughness is what one launch in forty exceeds its median by, and unknown at first") {
  Roughness roughness;
  const std::vector<double> smooth(63, 2.0);
  roughness.learn(smooth, 2.0);
  CHECK(roughness.value() == 0.5);
  roughness.learn(std::vector<double>{1.5}, 2.0);
  CHECK(roughness.value() == 0);
  for (int i = 0; i < 100; ++i) roughness.learn(std::vector<double>{2, 2, 2, 2, 2, 2, 2, 2, 2, 2.6}, 2.0);
  CHECK(roughness.value() == doctest::Approx(0.3));
  for (int i = 0; i < 20; ++i) roughness.learn(smooth, 2.0);
  CHECK(roughness.value() == 0);  // old samples are forgotten
  roughness.learn(std::vector<double>(2000, 5.0), 0);
  CHECK(roughness.value() == 0);

  Roughness shared(0.4);
  CHECK(shared.value() == 0.5);
  shared.learn(std::vector<double>(64, 2.0), 2.0);
  CHECK(shared.value() == 0.4);
  shared.learn(std::vector<double>(64, 4.0), 2.0);
  CHECK(shared.value() == 1);
}

TEST_CASE("Without an incumbent, or with one without a time, no challenger loses") {
  for (const Race& race : {Race(), Race(std::nullopt, 0), Race(Incumbent{0, 0}, 0), Race(Incumbent{-1, 1}, 0)}) {
    CHECK_FALSE(race.on());
    CHECK_FALSE(race.lost(std::vector<double>(20, 1e9), 1e9));
  }
}

TEST_CASE("A challenger that lost has still lost against the same incumbent, and against a slightly slower one") {
  fakes::NoisyDevice device(Noise{}, 3);
  Random random(5);
  int losers = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> samples;
    const double true_ms = 0.9 + 5 * random.uniform();
    for (std::size_t n = 1 + random.below(14); n > 0; --n) samples.push_back(device.launch_ms(true_ms));
    if (!Race(one_ms, 0).lost(samples, samples.front())) continue;
    ++losers;
    CHECK(still_lost(samples, one_ms));
    CHECK(still_lost(samples, {1.01, 1.03}));
    CHECK_FALSE(still_lost(samples, {true_ms * 1.5, true_ms * 1.5}));
  }
  CHECK(losers > 1000);
  CHECK_FALSE(still_lost({}, one_ms));
}

TEST_CASE("A faster configuration is dropped in less than two races of a thousand") {
  for (const auto& [name, noise] : noises())
    for (const double true_ms : {0.004, 2.0}) {
      CAPTURE(name);
      CAPTURE(true_ms);
      Contest contest{NoisyDevice(noise, 11), {}, {}};
      const int races = 4000;
      int dropped = 0;
      for (int i = 0; i < races; ++i) {
        const Incumbent incumbent = incumbent_of(contest.measure(true_ms).summary);
        dropped += contest.measure(true_ms * 0.995, incumbent).stopped_by == Stop::beaten;
      }
      CHECK(dropped <= races / 500);
    }
}

TEST_CASE("A challenger that loses within three samples is not warmed up") {
  Contest contest{NoisyDevice(Noise{}, 1), {}, {}};
  for (int i = 0; i < 20; ++i) contest.measure(1);
  const auto launches_of = [&](double true_ms) {
    const std::uint64_t before = contest.device.launches();
    const Series series = contest.measure(true_ms, one_ms);
    CHECK((series.stopped_by == Stop::beaten) == (true_ms > 1.03));
    return contest.device.launches() - before;
  };
  CHECK(launches_of(50) == 2);
  CHECK(launches_of(1.1) == 2);
  CHECK(launches_of(1.06) == 3);
  CHECK(launches_of(1.04) == 1 + 3 + 4);  // with the first one, the fourth sample of the series is the fifth launch
  CHECK(launches_of(0.9) == 1 + 3 + 7);
}

TEST_CASE("Launches before the warm-up count as such, and teach how rough the device is") {
  std::vector<int> warmed;
  int launches = 0;
  const auto sample = [&] { return ++launches <= 3 ? 1.3 : 1.0; };
  const auto warm_up = [&](int count) { warmed.push_back(count); };
  Roughness roughness;
  fakes::FakeClock clock;
  const Budget budget(clock, 30);
  const Series series = measure_challenger({sample, warm_up, 5, 1.2}, {}, budget, one_ms, roughness);
  CHECK(series.samples_ms == std::vector<double>(7, 1.0));
  CHECK(warmed == std::vector<int>{2});
  for (int i = 0; i < 9; ++i) {
    launches = 0;
    measure_challenger({sample, warm_up, 2, 1.2}, {}, budget, one_ms, roughness);
  }
  CHECK(warmed.back() == 0);
  CHECK(roughness.value() == doctest::Approx(0.3));
  launches = 0;
  CHECK(measure_challenger({sample, warm_up, 5, 1.2}, {}, budget, std::nullopt, roughness).samples_ms.front() == 1.3);
  CHECK(warmed.back() == 5);
}

TEST_CASE("A race over a wide space takes less than a quarter of the kernel time, and keeps the best") {
  // 300 configurations, the slowest fifty times slower than the fastest, evenly on the logarithm.
  for (const std::string kind : {"usual", "rough"}) {
    CAPTURE(kind);
    double full_ms = 0, raced_ms = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(seed);
      Contest full{NoisyDevice(noises().at(kind), seed), {}, {}}, raced = full;
      std::optional<Incumbent> incumbent;
      double best_true = 0, kept_true = 0;
      for (int i = 0; i < 300; ++i) {
        const double true_ms = std::exp(4 * random.uniform());
        best_true = i == 0 ? true_ms : std::min(best_true, true_ms);
        full.measure(true_ms);
        const Series series = raced.measure(true_ms, incumbent);
        if (series.stopped_by == Stop::beaten) continue;
        if (incumbent && series.summary.median >= incumbent->median_ms) continue;
        incumbent = incumbent_of(series.summary);
        kept_true = true_ms;
      }
      full_ms += full.busy_ms;
      raced_ms += raced.busy_ms;
      CHECK(kept_true <= best_true * (kind == "usual" ? 1.005 : 1.03));
    }
    CAPTURE(full_ms);
    CAPTURE(raced_ms);
    CHECK(full_ms > 4 * raced_ms);
  }
}
