// Tests of finals under other statistics than the median and other objectives than time.
#include <doctest/doctest.h>

#include "core/store/objective.hpp"
#include "core/store/record_log.hpp"
#include "fakes/noisy_bench.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::Noise;
using fakes::NoisyBench;
using fakes::Tuning;

/// Configurations on a device with noise, where a launch costs 0.1 J a unit of A.
struct Contest : Tuning {
  Noise noise;
  std::optional<NoisyBench> device;
  Contest(
      const std::string& tables, std::function<double(int)> time_ms = [](int a) { return 2.01 - 0.01 * a; }) {
    rest = tables;
    parameters = "A = { min = 8, max = 12 }\n";
    finals = 8;
    noise.spread = 0.02;
    device.emplace(bench, clock, noise, 1, [time_ms](const BenchJob& job) { return time_ms(a_of(job)); });
    const auto timed = bench.respond;
    bench.respond = [timed](const BenchJob& job) {
      BenchAnswer answer = timed(job);
      answer.telemetry.energy_j = 0.1 * a_of(job);
      return answer;
    };
  }

  std::int64_t winner(const std::vector<const Record*>& records) const {
    // The criterion borrows its objective.
    const Objective objective(spec);
    const Criterion by = objective.criterion(spec.cases.front(), target.device);
    const Best best = best_of(records, by).value();
    CHECK(ranked(records, by).front() == best.record);
    return value(best.record->config, "A");
  }
  std::int64_t stored_winner() const {
    const std::vector<Record> records = read_records(options.store, "sm_90", "k").records;
    std::vector<const Record*> pointers;
    for (const Record& record : records) pointers.push_back(&record);
    return winner(pointers);
  }
};

}  // namespace

TEST_CASE("Whatever statistic ranks, the first row of a run is what the store answers, the same on the next run") {
  for (const char* statistic : {"median", "min", "mean"}) {
    CAPTURE(statistic);
    Contest t("[measure]\nstatistic = \"" + std::string(statistic) + "\"\n");
    const TuneResult result = t.run();
    REQUIRE_FALSE(t.bench.rounds.empty());
    const std::int64_t best = t.winner(result.all());
    CHECK(t.stored_winner() == best);
    t.clock.advance_s(1);
    const TuneResult again = t.run();
    CHECK(t.bench.rounds.empty());
    CHECK(t.winner(again.all()) == best);
  }
}

TEST_CASE("An objective in which time counts has finals, held by its value") {
  // Almost equal, with the first one best; by time only the last would win.
  Contest t("[objective]\nminimize = \"time_ms * energy_j\"\n", [](int a) { return 10.0 / (a - 0.04); });
  const TuneResult result = t.run();
  REQUIRE_FALSE(t.bench.rounds.empty());
  CHECK(result.finalists == 5);
  for (const Record& record : result.further) {
    CHECK(record.finals_by == "median least time_ms * energy_j");
    CHECK(record.telemetry.energy_j == doctest::Approx(0.1 * static_cast<double>(Tuning::value(record.config, "A"))));
  }
  const std::int64_t best = t.winner(result.all());
  CHECK(t.stored_winner() == best);
}

TEST_CASE("Finals held for another objective are not taken for those of time") {
  Contest t("[objective]\nminimize = \"time_ms * A\"\n", [](int a) { return 10.0 / (a - 0.04); });
  const TuneResult by_value = t.run();
  REQUIRE_FALSE(t.bench.rounds.empty());
  CHECK(t.stored_winner() == t.winner(by_value.all()));
  t.clock.advance_s(1);
  t.rest.clear();
  const TuneResult by_time = t.run();
  CHECK(by_time.from_store == 5);
  CHECK(t.winner(by_time.all()) == 12);
  CHECK(t.stored_winner() == 12);
}

TEST_CASE("An objective in which time does not count has none") {
  Contest t("[objective]\nminimize = \"energy_j\"\n");
  const TuneResult result = t.run();
  CHECK(t.bench.rounds.empty());
  CHECK(t.winner(result.all()) == 8);
  CHECK(t.stored_winner() == 8);
}

TEST_CASE("A record of finals knows the shared memory of its launch") {
  Contest t("");
  t.shared = "A * 16";
  const TuneResult result = t.run();
  REQUIRE_FALSE(result.further.empty());
  for (const Record& record : result.further)
    CHECK(record.dynamic_shared_bytes == 16 * Tuning::value(record.config, "A"));
}

TEST_CASE("A goal whose quantity the device does not tell is named once") {
  Contest t("[objective]\nminimize = \"energy_j * time_s\"\n");
  const auto timed = t.bench.respond;
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer = timed(job);
    answer.telemetry.energy_j = 0;
    return answer;
  };
  t.run();
  REQUIRE(t.observer.warnings.size() == 1);
  CAPTURE(t.observer.warnings[0]);
  CHECK(t.observer.warnings[0].find("the goal has no value: energy_j was not measured on Fake (backend "
                                    "cuda)") != std::string::npos);
}
