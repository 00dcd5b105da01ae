// The race in a run: challengers, records of losers, and repeated measurements of the incumbent.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "core/store/best.hpp"
#include "core/store/record_log.hpp"
#include "fakes/noisy_bench.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::base;
using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::Noise;
using fakes::NoisyBench;
using fakes::threads_of;
using fakes::Tuning;

BenchAnswer samples(double time_ms, std::size_t count, Outcome outcome = Outcome::ok) {
  BenchAnswer answer;
  answer.outcome = outcome;
  answer.stage = "measure";
  answer.samples_ms.assign(count, time_ms);
  return answer;
}

std::vector<Record> stored(const Tuning& t) { return read_records(t.options.store, "sm_90", "k").records; }

std::map<Outcome, std::uint64_t> counts(std::uint64_t ok, std::uint64_t pruned) {
  return {{Outcome::ok, ok}, {Outcome::pruned, pruned}};
}

/// 3 and 4 are hardly apart.
double time_of(std::int64_t a) { return a == 2 ? 1.0 : a == 4 ? 30.3 : 10.0 * static_cast<double>(a); }

/// A in the order of exhaustive search: the best is the second, the others lose.
struct Raced : Tuning {
  Raced() {
    parameters = "A = [1, 2, 3, 4]\n";
    rest = "[search]\nstrategy = \"exhaustive\"\n";
    bench.respond = [](const BenchJob& job) {
      const double time_ms = time_of(a_of(job));
      return job.incumbent && Race(job.incumbent, 0).lost(std::vector<double>(2, time_ms))
                 ? samples(time_ms, 2, Outcome::pruned)
                 : samples(time_ms, 7);
    };
  }
};

}  // namespace

TEST_CASE("Each configuration challenges the best so far; a loser is a bound, with its samples") {
  Raced t;
  const TuneResult result = t.run();
  REQUIRE(t.bench.jobs.size() == 4);
  for (const BenchJob& job : t.bench.jobs) {
    const double incumbent_ms = a_of(job) == 1 ? 0 : a_of(job) == 2 ? 10 : 1;
    REQUIRE(job.incumbent.has_value() == (incumbent_ms > 0));
    if (job.incumbent) CHECK(job.incumbent->median_ms == incumbent_ms);
  }
  CHECK(result.counts == counts(2, 2));
  for (const Record& record : result.records)
    if (record.outcome == Outcome::pruned) {
      CHECK(record.samples_ms.size() == 2);
      CHECK(record.time_ms.min == time_of(Tuning::value(record.config, "A")));
      CHECK(record.stage == "measure");
      CHECK(record.message.empty());
    }
  CHECK(best_of(result.all())->record->config.at("A") == Value(std::int64_t{2}));
  const TuneResult again = t.run();
  CHECK(again.from_store == 4);
  CHECK(again.counts == result.counts);
  CHECK(t.journal.empty());
}

TEST_CASE("Of the best that are asked for all are measured in full, also where they lost before") {
  Raced t;
  t.options.top = 3;
  const std::map<Outcome, std::uint64_t> all_in_full = {{Outcome::ok, 4}};
  CHECK(t.run().counts == all_in_full);
  REQUIRE(t.bench.jobs.size() == 4);
  for (const BenchJob& job : t.bench.jobs) CHECK(job.incumbent.has_value() == (a_of(job) == 4));
  if (t.bench.jobs.back().incumbent) CHECK(t.bench.jobs.back().incumbent->median_ms == 30);

  Raced before;
  CHECK(before.run().counts == counts(2, 2));
  before.options.top = 3;
  before.clock.advance_s(1);
  CHECK(before.run().counts == all_in_full);
  REQUIRE(before.bench.jobs.size() == 2);  // 4 is too near to the third best to stay a loser
  CHECK(a_of(before.bench.jobs[0]) == 3);
  for (const BenchJob& job : before.bench.jobs) CHECK_FALSE(job.incumbent);
}

TEST_CASE("Without the race every configuration is measured in full, also one that lost before") {
  Raced t;
  t.run();
  t.rest += "[measure]\nrace = false\n";
  const TuneResult result = t.run();
  CHECK(result.from_store == 2);
  REQUIRE(t.bench.jobs.size() == 2);
  for (const BenchJob& job : t.bench.jobs) CHECK_FALSE(job.incumbent);
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 4}});
  // And from then on the full measurement answers.
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  CHECK(t.run().counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 4}});
}

TEST_CASE("A loser whose best is gone is measured in full, the most promising first; one that lost anyway is not") {
  Raced t;
  t.run();
  // 1 and 2 are no longer allowed: 3 and 4 lost only against configurations outside of this space.
  t.parameters = "A = [3, 4]\n";
  t.clock.advance_s(1);
  const TuneResult result = t.run();
  CHECK(result.from_store == 2);
  REQUIRE(t.bench.jobs.size() == 2);
  CHECK(a_of(t.bench.jobs[0]) == 3);
  CHECK_FALSE(t.bench.jobs[0].incumbent);
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}});
  CHECK(result.records.size() == 2);
  CHECK(best_of(result.all())->record->config.at("A") == Value(std::int64_t{3}));
  CHECK(t.run().from_store == 2);
  CHECK(t.journal.empty());

  SUBCASE("far behind the new best as well") {
    Raced other;
    other.bench.respond = [](const BenchJob& job) {
      if (a_of(job) == 4) return samples(100, 2, Outcome::pruned);
      return samples(a_of(job), 7);
    };
    other.run();
    other.parameters = "A = [2, 4]\n";
    const TuneResult rest = other.run();
    CHECK(other.journal.empty());
    CHECK(rest.counts == counts(1, 1));
  }
}

TEST_CASE("A race lost by a fresh run says nothing against what the store knows in full") {
  Raced t;
  t.run();
  t.options.fresh = true;
  t.clock.advance_s(1);
  t.bench.respond = [](const BenchJob& job) {
    return a_of(job) == 1 ? samples(0.1, 7) : samples(10, 2, Outcome::pruned);
  };
  CHECK(t.run().counts == counts(1, 3));
  t.options.fresh = false;
  const TuneResult result = t.run();
  CHECK(result.counts == counts(2, 2));
  CHECK(best_of(result.all())->record->config.at("A") == Value(std::int64_t{1}));
}

TEST_CASE("The incumbent is measured again now and then, and challengers meet what it takes by now") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 30 }\nC = { min = 1, max = 4 }\n";
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  t.bench.respond = [&](const BenchJob& job) {
    const bool first = t.bench.jobs.size() == 1;
    return job.incumbent && !first ? samples(50, 2, Outcome::pruned) : samples(1, 7);
  };
  t.bench.respond_rounds = [](const RoundsJob& job) {
    RoundsAnswer answer;
    answer.samples_ms = {std::vector<double>(job.rounds.size(), 1.25)};
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(result.records.size() == 120);
  REQUIRE(t.bench.rounds.size() == 3);  // also at the end of the search
  CHECK(t.bench.rounds[0].jobs.size() == 1);
  CHECK(t.bench.rounds[0].jobs[0].artifact.key == t.bench.jobs[0].artifact.key);
  CHECK(t.bench.jobs[20].incumbent->median_ms == 1);
  CHECK(t.bench.jobs[60].incumbent->median_ms == 1.25);
  const std::vector<Record> records = stored(t);
  CHECK(records.size() == 123);
  CHECK(std::count_if(records.begin(), records.end(), [](const Record& record) { return record.drift; }) == 3);
  // They are not another answer to the same question.
  CHECK(best_of(records)->record->time_ms.median == 1);
  const TuneResult again = t.run();
  CHECK(again.from_store == 120);
  CHECK(t.journal.empty());
  CHECK(best_of(again.all())->record->time_ms.median == 1);
}

TEST_CASE("An incumbent of another run is measured before long; one that fails then stays what it was") {
  Tuning t;
  t.parameters = "A = [1]\n";
  t.run();
  t.parameters = "A = { min = 1, max = 30 }\n";
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  t.bench.respond_rounds = [](const RoundsJob&) {
    RoundsAnswer answer;
    answer.outcome = Outcome::crashed;
    return answer;
  };
  t.bench.respond = [](const BenchJob& job) { return job.incumbent ? samples(50, 2, Outcome::pruned) : samples(1, 7); };
  const TuneResult result = t.run();
  CHECK(result.counts == counts(1, 29));
  REQUIRE(t.bench.rounds.size() == 2);
  const auto at = std::find(t.journal.begin(), t.journal.end(), "rounds");
  CHECK(std::count_if(t.journal.begin(), at, [](const std::string& e) { return e.starts_with("benched "); }) >= 8);
  CHECK(t.bench.jobs.back().incumbent->median_ms == 1);
}

TEST_CASE("A tainted time is beaten by any clean one, and the incumbent only where there is none") {
  Raced t;
  t.bench.respond = [](const BenchJob& job) {
    BenchAnswer answer = samples(a_of(job), 7);
    if (a_of(job) == 1) answer.taints = {"throttled"};
    return answer;
  };
  t.run();
  CHECK(t.bench.jobs[1].incumbent->median_ms == 1);
  CHECK(t.bench.jobs[2].incumbent->median_ms == 2);
}

TEST_CASE("An incumbent that goes wrong when it is launched again loses its place, and its record counts no more") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 30 }\nC = { min = 1, max = 4 }\n";
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  const auto time_of = [](const BenchJob& job) { return a_of(job) == 1 ? 0.1 : 1 + 0.1 * a_of(job); };
  t.bench.respond = [&](const BenchJob& job) {
    const bool lost = job.incumbent && time_of(job) > 1.2 * job.incumbent->median_ms;
    return lost ? samples(time_of(job), 2, Outcome::pruned) : samples(time_of(job), 7);
  };
  t.bench.respond_rounds = [&](const RoundsJob& job) {
    RoundsAnswer answer;
    answer.samples_ms = {std::vector<double>(job.rounds.size(), time_of(job.jobs[0]))};
    if (a_of(job.jobs[0]) > 1) return answer;
    answer.outcome = Outcome::wrong_result;
    answer.message = "y: wrong";
    answer.failed = 0;
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(Tuning::value(best_of(result.all())->record->config, "A") == 2);
  CHECK(result.counts.at(Outcome::wrong_result) >= 1);
  const std::vector<Record> records = stored(t);
  CHECK(Tuning::value(best_of(records)->record->config, "A") == 2);
  t.clock.advance_s(1);
  const TuneResult again = t.run();
  CHECK(again.counts == result.counts);
  CHECK(t.bench.jobs.empty());
}

TEST_CASE("On noisy devices the race takes a quarter of the time at most, and finds the same best, or a tie") {
  const auto true_ms = [](const BenchJob& job) {
    Random random(mix64(static_cast<std::uint64_t>(threads_of(job)) * 1000 + job.artifact.key[1]));
    return std::exp(4 * random.uniform());
  };
  Noise drifting;
  drifting.drift = 0.02;
  double full_s = 0, raced_s = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    double best_true[2];
    for (const bool raced : {false, true}) {
      Tuning t;
      t.parameters = "A = { min = 1, max = 30 }\nC = { min = 1, max = 10 }\n";
      t.finals = 8;
      t.rest = std::string("[search]\nstrategy = \"random\"\nevals = 300\n[measure]\nrace = ") +
               (raced ? "true\n" : "false\n");
      double least = 1e9;
      NoisyBench device(t.bench, t.clock, drifting, seed, [&](const BenchJob& job) {
        least = std::min(least, true_ms(job));
        return true_ms(job);
      });
      const TuneResult result = t.run();
      (raced ? raced_s : full_s) += device.busy_s;
      const Record& best = *best_of(result.all())->record;
      const BenchJob* job = nullptr;
      for (const BenchJob& each : t.bench.jobs)
        if (each.artifact.key == best.artifact_key) job = &each;
      REQUIRE(job);
      best_true[raced] = true_ms(*job) / least;
    }
    CHECK(best_true[0] <= 1.01);
    CHECK(best_true[1] <= 1.01);
  }
  CAPTURE(full_s);
  CAPTURE(raced_s);
  CHECK(full_s > 4 * raced_s);
}

namespace {

/// One other process, which has measured something.
struct Another final : Peers {
  std::vector<Record> measured;
  bool take(const std::string& /*name*/) override { return true; }
  void leave() noexcept override {}
  void stored_one() noexcept override {}
  std::vector<Record> news() override { return std::exchange(measured, {}); }
  std::size_t size() const noexcept override { return 2; }
  std::size_t place() const noexcept override { return 0; }
  std::int64_t began_unix_ms() const noexcept override { return 0; }
  std::uint64_t look_every_ms() const noexcept override { return 1; }
};

}  // namespace

TEST_CASE("Challengers race the best of all processes, long before its turn comes here") {
  Raced before;
  before.options.only = {{{"A", std::int64_t{4}}}};
  before.bench.respond = [](const BenchJob&) { return samples(0.25, 7); };
  Another other;
  other.measured = before.run().records;
  REQUIRE(other.measured.size() == 1);
  Raced t;
  t.options.peers = &other;
  const TuneResult result = t.run();
  REQUIRE(t.bench.jobs.size() == 3);
  for (const BenchJob& job : t.bench.jobs) {
    REQUIRE(job.incumbent.has_value());
    CHECK(job.incumbent->median_ms == 0.25);
  }
  CHECK(result.counts == counts(1, 3));
  CHECK(result.from_peers == 1);
}
