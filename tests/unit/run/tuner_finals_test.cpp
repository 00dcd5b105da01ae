// The finals of a run: finalists, decisions, crashes, budgets, and the same answer from the store.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/store/best.hpp"
#include "core/store/record_log.hpp"
#include "fakes/noisy_bench.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::best_a;
using fakes::Noise;
using fakes::NoisyBench;
using fakes::Tuning;

std::set<std::int64_t> tied_a(const TuneResult& result) {
  std::set<std::int64_t> values;
  const std::vector<const Record*> all = result.all();
  const Best best = best_of(all).value();
  for (const Record* record : best.ties) values.insert(Tuning::value(record->config, "A"));
  return values;
}

/// Twenty configurations: 1.00, 1.001, 1.002 ms, then 3 % apart.
struct Finale : Tuning {
  Noise noise;
  std::uint64_t seed = 1;
  std::optional<NoisyBench> device;
  Finale() {
    parameters = "A = { min = 1, max = 20 }\n";
    finals = 8;
    play();
  }
  void play() {
    device.emplace(bench, clock, noise, seed, [](const BenchJob& job) {
      const int a = a_of(job);
      return a <= 3 ? 1 + 0.001 * (a - 1) : 1 + 0.03 * (a - 3);
    });
  }
};

}  // namespace

TEST_CASE("The best meet in rounds of random order; the slower leave, and equals are ties") {
  Finale t;
  const TuneResult result = t.run();
  CHECK(result.records.size() == 20);
  CHECK(result.finalists >= 3);
  CHECK(result.finalists <= 8);
  REQUIRE(t.bench.rounds.size() >= 1);
  const RoundsJob& first = t.bench.rounds.front();
  CHECK(first.jobs.size() == result.finalists);
  CHECK(first.rounds.size() == 10);
  CHECK(std::set<std::vector<std::size_t>>(first.rounds.begin(), first.rounds.end()).size() > 3);
  CHECK(result.further.size() == result.finalists);
  CHECK(best_a(result) == 1);
  CHECK(tied_a(result) == std::set<std::int64_t>{2, 3});
  for (const Record& record : result.further) {
    CHECK(record.finals == result.further.front().finals);
    CHECK(record.samples_ms.size() >= 10);
  }
}

TEST_CASE("Finalists that are certainly as good leave the rounds too, and only those in doubt continue") {
  Finale t;
  t.parameters = "A = [1, 2, 3]\n";
  t.noise.spread = 0.004;
  // Whether the third is within 1 % of the first takes many rounds.
  t.device.emplace(t.bench, t.clock, t.noise, t.seed, [](const BenchJob& job) {
    return std::array{1.0, 1.001, 1.0105}.at(a_of(job) - 1);
  });
  const TuneResult result = t.run();
  REQUIRE(t.bench.rounds.size() > 3);
  std::set<std::int64_t> last;
  for (const BenchJob& job : t.bench.rounds.back().jobs) last.insert(a_of(job));
  CHECK(last == std::set<std::int64_t>{1, 3});
  CHECK(best_a(result) == 1);
  CHECK(tied_a(result).contains(2));
}

TEST_CASE("A repeated run gives the same answer from the store, without any worker") {
  Finale t;
  const TuneResult result = t.run();
  t.clock.advance_s(10);
  const TuneResult again = t.run();
  CHECK(t.journal.empty());
  CHECK(again.from_store == 20);
  CHECK(again.finalists == result.finalists);
  CHECK(best_a(again) == best_a(result));
  CHECK(tied_a(again) == tied_a(result));
  CHECK(best_of(again.all())->record->time_ms.median == doctest::Approx(best_of(result.all())->record->time_ms.median));
  // As xtune best sees it: all records of the store.
  const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
  CHECK(Tuning::value(best_of(records)->record->config, "A") == best_a(result));
}

TEST_CASE("With any noise, the answer is the same in 20 of 20 runs") {
  std::set<std::int64_t> answers;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Finale t;
    t.noise.spread = 0.01;
    t.noise.spike_rate = 0.01;
    t.noise.drift = 0.01;
    t.seed = seed;
    t.play();
    answers.insert(best_a(t.run()));
  }
  CHECK(answers == std::set<std::int64_t>{1});
}

TEST_CASE("A device that slows down before or in the finals changes neither winner nor ratios, and makes no ties") {
  const auto ratios_of = [](const TuneResult& result) {
    std::map<std::int64_t, Ratio> ratios;
    const Standings standings(result.all());
    for (const Record* record : standings.order())
      ratios.emplace(Tuning::value(record->config, "A"), standings.ratio(*record).value());
    return ratios;
  };
  Finale even;
  even.noise.spread = 0.004;
  even.play();
  const TuneResult expected = even.run();
  CHECK(expected.slowdown == doctest::Approx(1).epsilon(0.02));
  for (const std::size_t round : {0, 4}) {
    CAPTURE(round);
    Finale t;
    t.noise.spread = 0.004;
    t.play();
    t.device->slow_from_round = round;
    const TuneResult result = t.run();
    CHECK(best_a(result) == best_a(expected));
    CHECK(tied_a(result) == tied_a(expected));
    const auto ratios = ratios_of(result), before = ratios_of(expected);
    CHECK(ratios.size() == before.size());
    double last_ms = 0;
    const Standings standings(result.all());
    for (const Record* record : standings.order()) {
      const std::int64_t a = Tuning::value(record->config, "A");
      CAPTURE(a);
      CHECK(ratios.at(a).value > before.at(a).low - 0.005);
      CHECK(ratios.at(a).value < before.at(a).high + 0.005);
      if (a > 5) CHECK_FALSE(ratios.at(a).tied);
      if (a > 3) CHECK(record->time_ms.median >= last_ms);
      last_ms = record->time_ms.median;
    }
    if (round == 0) CHECK(result.slowdown == doctest::Approx(1.37).epsilon(0.02));
    std::vector<const Record*> met;
    for (const Record& record : result.further) met.push_back(&record);
    const double drift = FinalsResult(met).drift();
    CHECK(drift == (round == 0 ? doctest::Approx(1) : doctest::Approx(1.37).epsilon(0.02)));
  }
}

TEST_CASE("A device that changes its speed within the search changes neither winner nor ratios") {
  const auto true_ms = [](const Bindings& config) {
    const std::int64_t id = 4 * Tuning::value(config, "A") + Tuning::value(config, "C");
    return id == 62 ? 1.0 : 1.05 + 0.01 * static_cast<double>(id * 53 % 120);
  };
  for (const std::size_t top : {1, 10})
    for (const double slowness : {1.37, 1 / 1.37})
      for (const std::size_t from : {5, 30, 43, 58, 75, 95}) {
        CAPTURE(top);
        CAPTURE(slowness);
        CAPTURE(from);
        Finale t;
        t.parameters = "A = { min = 1, max = 30 }\nC = { min = 1, max = 4 }\n";
        t.rest = "[search]\nstrategy = \"exhaustive\"\n";
        t.options.top = top;
        t.noise.spread = 0.004;
        t.device.emplace(t.bench, t.clock, t.noise, t.seed, [&](const BenchJob& job) { return true_ms(job.config); });
        t.device->slow_from_configuration = from;
        t.device->slowness = slowness;
        const TuneResult result = t.run();
        const Standings standings(result.all());
        CHECK(true_ms(standings.best().config) == 1);
        CHECK(tied_a(result).empty());
        std::size_t ranked = 0;
        for (const Record* record : result.all()) {
          const double expected = true_ms(record->config);
          CAPTURE(expected);
          const Ratio ratio = standings.ratio(*record).value();
          const bool lost = record->outcome == Outcome::pruned;  // perhaps with a single sample
          CHECK(ratio.low < expected * (lost ? 1.05 : 1.02));
          if (!lost) CHECK(ratio.high > expected * 0.98);
        }
        for (const Record* record : standings.order())
          if (ranked++ < top) CHECK(true_ms(record->config) < 1.045 + 0.01 * static_cast<double>(top));
        // The same from the store.
        const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
        const Standings stored(records);
        for (std::size_t i = 0; i < std::min(top, stored.order().size()); ++i)
          CHECK(stored.order()[i]->config == standings.order()[i]->config);
        CHECK(true_ms(best_of(t.run().all())->record->config) == 1);
        CHECK(t.journal.empty());
      }
}

TEST_CASE("Finals in which the device changed its speed go on until they are decided") {
  const auto rounds_of = [](std::size_t slow_from_round) {
    Finale t;
    t.parameters = "A = [1, 2]\n";
    t.noise.spread = 0.02;
    t.rest = "[measure]\nrep = 10\n";
    // By a little more than what counts as equal.
    t.device.emplace(t.bench, t.clock, t.noise, t.seed,
                     [](const BenchJob& job) { return a_of(job) == 1 ? 1.0 : 1.011; });
    t.device->slow_from_round = slow_from_round;
    t.run();
    std::size_t rounds = 0;
    for (const RoundsJob& job : t.bench.rounds) rounds += job.rounds.size();
    return rounds;
  };
  CHECK(rounds_of(SIZE_MAX) == 10);
  CHECK(rounds_of(5) > 10);
  CHECK(rounds_of(5) <= 40);
}

TEST_CASE("Ties break by resources before anything else") {
  Finale t;
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer;
    answer.artifact.key = job.key;
    answer.artifact.usage.registers = Tuning::define(job, "A") == "3" ? 32 : 64;
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(best_a(result) == 3);
  CHECK(tied_a(result) == std::set<std::int64_t>{1, 2});
}

TEST_CASE("A default configuration that wins clearly needs no finals") {
  Tuning t;
  t.parameters = "A = [1, 2, 3, 4]\n";
  t.rest = "[dispatch]\ndefault = { A = 2 }\n";
  t.finals = 8;
  t.bench.respond = [](const BenchJob& job) {
    BenchAnswer answer;
    answer.samples_ms.assign(7, a_of(job) == 2 ? 1.0 : 2.0);
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(t.bench.rounds.empty());
  CHECK(result.finalists == 0);
  CHECK(best_a(result) == 2);
}

TEST_CASE("A finalist that crashes is out, its record stands, and the others go on") {
  for (const bool known : {true, false}) {
    CAPTURE(known);
    Finale t;
    const auto honest = t.bench.respond_rounds;
    t.bench.respond_rounds = [&](const RoundsJob& job) {
      RoundsAnswer answer = honest(job);
      for (std::size_t i = 0; i < job.jobs.size(); ++i)
        if (a_of(job.jobs[i]) == 1) {
          answer = {};
          answer.outcome = Outcome::crashed;
          answer.message = "because";
          if (known) answer.failed = i;
        }
      return answer;
    };
    const TuneResult result = t.run();
    CHECK(best_a(result) == 2);
    CHECK(tied_a(result) == std::set<std::int64_t>{3});
    CHECK(result.records.size() == 20);
    CHECK(result.counts.count(Outcome::crashed) == 0);
    int failures = 0;
    for (const Record& record : result.further)
      if (record.outcome == Outcome::crashed) {
        ++failures;
        CHECK(Tuning::value(record.config, "A") == 1);
        CHECK(record.message == "because");
        CHECK(record.samples_ms.empty());
      }
    CHECK(failures == 1);
    const TuneResult again = t.run();
    CHECK(t.journal.empty());
    CHECK(best_a(again) == 2);
  }
}

TEST_CASE("A finalist whose results are wrong in the finals answers nothing from then on") {
  Finale t;
  const auto honest = t.bench.respond_rounds;
  t.bench.respond_rounds = [&](const RoundsJob& job) {
    RoundsAnswer answer = honest(job);
    for (std::size_t i = 0; i < job.jobs.size(); ++i)
      if (a_of(job.jobs[i]) == 1) {
        answer.outcome = Outcome::wrong_result;
        answer.message = "y: wrong";
        answer.failed = i;
      }
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(best_a(result) == 2);
  CHECK(result.records.size() == 20);
  CHECK(result.counts.at(Outcome::wrong_result) == 1);
  CHECK(t.outcome_by_a(result).at(1) == Outcome::wrong_result);
  // As xtune best sees it: the newest record of a configuration counts.
  const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
  CHECK(Tuning::value(best_of(records)->record->config, "A") == 2);
  t.clock.advance_s(10);
  const TuneResult again = t.run();
  CHECK(t.journal.empty());
  CHECK(t.outcome_by_a(again).at(1) == Outcome::wrong_result);
  CHECK(best_a(again) == 2);
}

TEST_CASE("What lost against a finalist that was found wrong is measured in full, and meets the others") {
  Tuning t;
  t.finals = 8;
  t.parameters = "A = [1, 2, 3, 4]\n";
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  // 1 and 2 seem to take no time, until they are launched often; 3 and 4 are right, and lose against them.
  const auto time_of = [](int a) { return a <= 2 ? 0.01 : 1 + 0.001 * a; };
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer;
    const bool lost = job.incumbent && job.incumbent->median_ms < 0.5 && a_of(job) > 2;
    answer.outcome = lost ? Outcome::pruned : Outcome::ok;
    answer.samples_ms.assign(lost ? 2 : 7, time_of(a_of(job)));
    return answer;
  };
  t.bench.respond_rounds = [&](const RoundsJob& job) {
    RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    for (const auto& round : job.rounds)
      for (const std::size_t i : round) answer.samples_ms[i].push_back(time_of(a_of(job.jobs[i])));
    for (std::size_t i = 0; i < job.jobs.size(); ++i)
      if (a_of(job.jobs[i]) <= 2) {
        answer.outcome = Outcome::wrong_result;
        answer.failed = i;
        break;
      }
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(t.outcome_by_a(result) ==
        std::map<std::int64_t, Outcome>{
            {1, Outcome::wrong_result}, {2, Outcome::wrong_result}, {3, Outcome::ok}, {4, Outcome::ok}});
  CHECK(best_a(result) == 3);
  CHECK(tied_a(result) == std::set<std::int64_t>{4});
  std::set<std::string> finals;
  for (const Record& record : result.further) finals.insert(record.finals);
  CHECK(finals.size() == 2);
  const TuneResult again = t.run();
  CHECK(t.journal.empty());
  CHECK(best_a(again) == 3);
}

TEST_CASE("Metrics that a program reports are those of the finals' runs, as its time is") {
  Finale t;
  t.bench.respond = [](const BenchJob&) {
    BenchAnswer answer;
    answer.samples_ms.assign(7, 1.0);
    answer.reported = {{"rate", std::vector<double>(7, 100.0)}};
    return answer;
  };
  t.bench.respond_rounds = [](const RoundsJob& job) {
    RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    answer.reported.resize(job.jobs.size(), {{"rate", {}}});
    for (const auto& round : job.rounds)
      for (const std::size_t i : round) {
        answer.samples_ms[i].push_back(2.0);
        answer.reported[i][0].second.push_back(50.0);
      }
    return answer;
  };
  const TuneResult result = t.run();
  REQUIRE_FALSE(result.further.empty());
  for (const Record& record : result.further) {
    REQUIRE(record.reported.size() == 1);
    CHECK(record.reported[0].first == "rate");
    CHECK(record.reported[0].second == std::vector<double>(record.samples_ms.size(), 50.0));
  }
}

TEST_CASE("Workers that keep dying for no known reason end the finals, not the run") {
  Finale t;
  t.bench.respond_rounds = [&](const RoundsJob& job) {
    RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    if (job.jobs.size() > 1)
      answer.outcome = Outcome::crashed;
    else
      answer.samples_ms[0] = {1.0};
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(best_a(result) <= 3);
  CHECK(result.further.empty());
  CHECK(std::count_if(t.bench.rounds.begin(), t.bench.rounds.end(),
                      [](const RoundsJob& job) { return job.jobs.size() > 1; }) == 3);
}

TEST_CASE("A run that ended before its finals holds them when it is run again") {
  Finale t;
  t.observer.also = [&](const Record&) { t.stop = t.observer.records.size() == 20; };
  const TuneResult cut = t.run();
  CHECK(cut.interrupted);
  CHECK(cut.records.size() == 20);
  CHECK(t.bench.rounds.empty());
  t.stop = false;
  t.observer.also = nullptr;
  const TuneResult rest = t.run();
  CHECK(rest.from_store == 20);
  CHECK(t.bench.jobs.empty());
  CHECK_FALSE(t.bench.rounds.empty());
  CHECK(best_a(rest) == 1);
}

TEST_CASE("A new rival calls for new finals; fresh runs hold their own") {
  Finale t;
  t.run();
  t.clock.advance_s(1);
  t.parameters = "A = { min = 1, max = 20 }\nC = { values = [0, 1], compile_time = false }\n";
  const TuneResult wider = t.run();
  CHECK_FALSE(t.bench.rounds.empty());
  CHECK(wider.records.size() == 40);
  t.run();
  CHECK(t.journal.empty());
  t.options.fresh = true;
  t.run();
  CHECK_FALSE(t.bench.rounds.empty());
}

TEST_CASE("What the store knows of this space takes part, though this run did not come to it") {
  Finale t;
  t.run();
  t.clock.advance_s(1);
  t.rest = "[search]\nstrategy = \"random\"\nevals = 3\nseed = 1\n";
  t.parameters = "A = { min = 1, max = 21 }\n";
  const TuneResult result = t.run();
  CHECK(result.records.size() == 3);
  CHECK(best_a(result) == 1);
  // But not configurations that the space no longer allows.
  t.parameters = "A = { min = 3, max = 20 }\n";
  CHECK(best_a(t.run()) == 3);
}

TEST_CASE("Configurations that were only lucky in the search keep no better one out of the finals") {
  for (const bool default_wins : {true, false}) {
    CAPTURE(default_wins);
    Finale t;
    t.parameters = "A = { min = 1, max = 12 }\n";
    t.rest = "[search]\nstrategy = \"exhaustive\"\n[dispatch]\ndefault = { A = 1 }\n";
    // 2 and 3 took 1 ms in the search, and take 1.5 ms. So 4 lost its race, and so did the others.
    const auto true_ms = [&](int a) {
      return a == 1 ? (default_wins ? 1.2 : 1.9) : a <= 3 ? 1.5 + 0.02 * (a - 2) : a == 4 ? 1.1 : 1.9;
    };
    t.device.emplace(t.bench, t.clock, t.noise, t.seed, [&](const BenchJob& job) {
      return (a_of(job) == 2 || a_of(job) == 3) && t.bench.rounds.empty() ? 1.0 : true_ms(a_of(job));
    });
    const TuneResult result = t.run();
    CHECK(best_a(result) == 4);
    CHECK(t.bench.rounds.size() >= 2);
    const Standings standings(result.all());
    for (const Record* record : standings.order())
      CHECK(record->time_ms.median ==
            doctest::Approx(true_ms(static_cast<int>(Tuning::value(record->config, "A")))).epsilon(0.005));
    // The same from the store, without further finals.
    const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
    CHECK(Tuning::value(best_of(records)->record->config, "A") == 4);
    t.clock.advance_s(10);
    for (const std::optional<std::size_t> rows : {std::optional<std::size_t>(), std::optional<std::size_t>(1)}) {
      t.options.best_only = rows;
      CHECK(best_a(t.run()) == 4);
      CHECK(t.journal.empty());
    }
  }
}

TEST_CASE("The best of a search is compared with the next one, as it may only have been lucky") {
  Finale t;
  t.parameters = "A = [1, 2, 3]\n";
  t.rest = "[dispatch]\ndefault = { A = 1 }\n";
  t.device.emplace(t.bench, t.clock, t.noise, t.seed, [&](const BenchJob& job) {
    return a_of(job) == 1 ? (t.bench.rounds.empty() ? 0.88 : 1.1) : a_of(job) == 2 ? 1.0 : 1.4;
  });
  CHECK(best_a(t.run()) == 2);
}

TEST_CASE("Equally good configurations do not lead to further finals") {
  Finale t;
  t.parameters = "A = { min = 1, max = 30 }\n";
  t.rest = "[search]\nstrategy = \"exhaustive\"\n[dispatch]\ndefault = { A = 1 }\n";
  for (const double spread : {0.0, 0.004, 0.02}) {
    CAPTURE(spread);
    t.noise.spread = spread;
    t.device.emplace(t.bench, t.clock, t.noise, t.seed,
                     [](const BenchJob& job) { return a_of(job) == 1 ? 1.008 : 1 + 1e-6 * (a_of(job) % 10); });
    t.options.fresh = true;
    std::set<std::string> finals;
    for (const Record& record : t.run().further) finals.insert(record.finals);
    CHECK(finals.size() == 1);
  }
}

TEST_CASE("Results of runs in which the device had another speed meet in new finals") {
  // A run of some configurations, faster or slower than usual, and one of all: with its stored results.
  for (const double slowness : {0.8, 1.25}) {
    CAPTURE(slowness);
    Finale t;
    double speed = slowness;
    t.device.emplace(t.bench, t.clock, t.noise, t.seed, [&](const BenchJob& job) {
      const int a = a_of(job);
      return speed * (a == 3 ? (slowness > 1 ? 0.88 : 1.1) : a < 4 ? 1.2 : a == 5 ? 1.15 : a == 6 ? 1.0 : 1.3);
    });
    t.parameters = "A = { min = 1, max = 3 }\n";
    t.run();
    t.clock.advance_s(10);
    speed = 1;
    t.options.attempt = "second";
    t.parameters = "A = { min = 1, max = 10 }\n";
    const std::int64_t fastest = slowness > 1 ? 3 : 6;
    CHECK(best_a(t.run()) == fastest);
    const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
    CHECK(Tuning::value(best_of(records)->record->config, "A") == fastest);
    t.clock.advance_s(10);
    t.options.attempt = "third";
    CHECK(best_a(t.run()) == fastest);
    CHECK(t.journal.empty());
  }
}

TEST_CASE("Finalists that have met different ones since, at another speed of the device, meet again") {
  Finale t;
  double speed = 1;
  t.device.emplace(t.bench, t.clock, t.noise, t.seed, [&](const BenchJob& job) {
    return speed * (a_of(job) == 4 ? 1.0 : a_of(job) == 2 ? 1.08 : a_of(job) == 1 ? 1.4 : 1.5 + 0.01 * a_of(job));
  });
  const std::string all = "A = { min = 1, max = 12 }\n";
  const auto run = [&](const std::string& attempt, const std::string& parameters, double slowness, bool fresh = false) {
    t.clock.advance_s(10);
    speed = slowness;
    t.options.attempt = attempt;
    t.options.fresh = fresh;
    t.parameters = parameters;
    return best_a(t.run());
  };
  CHECK(run("all", all, 1) == 4);
  CHECK(run("fresh", "A = [1, 4, 5]\n", 1.15, true) == 4);
  CHECK(run("few", "A = [1, 2, 3]\n", 1.15) == 2);
  CHECK(run("all again", all, 1) == 4);
  CHECK(run("from the store", all, 1) == 4);
  CHECK(t.journal.empty());
}

TEST_CASE("What won stored finals takes part, though its search was slow") {
  Finale t;
  const auto play = [&](std::size_t slow_from) {
    t.device.emplace(t.bench, t.clock, t.noise, t.seed, [](const BenchJob& job) {
      return std::array{1.26, 1.07, 1.5, 1.38}.at(static_cast<std::size_t>(a_of(job) - 1));
    });
    t.device->slow_from_configuration = slow_from;
    t.device->slowness = 1.25;
  };
  t.rest = "[search]\nstrategy = \"exhaustive\"\n[measure]\nrace = false\n[dispatch]\ndefault = { A = 1 }\n";
  t.parameters = "A = [1, 2, 3]\n";
  play(1);
  CHECK(best_a(t.run()) == 2);
  t.clock.advance_s(10);
  t.options.attempt = "second";
  t.parameters = "A = [1, 2, 3, 4]\n";
  play(SIZE_MAX);
  CHECK(best_a(t.run()) == 2);
}

TEST_CASE("Finals with the default are not remembered where the other one has met different ones since") {
  Finale t;
  double speed = 1.2;
  t.device.emplace(t.bench, t.clock, t.noise, t.seed, [&](const BenchJob& job) {
    return speed * std::array{1.0, 1.3, 1.07}.at(static_cast<std::size_t>(a_of(job) - 1));
  });
  const std::string rest = "[search]\nstrategy = \"exhaustive\"\n[dispatch]\ndefault = { A = ";
  t.rest = rest + "1 }\n";
  t.parameters = "A = [1, 2, 3]\n";
  CHECK(best_a(t.run()) == 1);
  t.clock.advance_s(10);
  t.options.attempt = "second";
  speed = 1;
  t.parameters = "A = [2, 3]\n";
  t.rest = rest + "2 }\n";
  CHECK(best_a(t.run()) == 3);
  t.clock.advance_s(10);
  t.options.attempt = "third";
  t.rest = rest + "1 }\n";
  t.parameters = "A = [1, 2, 3]\n";
  CHECK(best_a(t.run()) == 1);
  const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
  CHECK(Tuning::value(best_of(records)->record->config, "A") == 1);
}

TEST_CASE("A tenth of the seconds is left for the finals") {
  Tuning t;
  t.finals = 8;
  t.parameters = "A = { min = 1, max = 30 }\n";
  t.rest = "[search]\nseconds = 10\n";
  t.bench.respond = [&](const BenchJob&) {
    t.clock.advance_s(0.5);
    BenchAnswer answer;
    answer.samples_ms.assign(7, 1.0);
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(result.records.size() == 18);
  CHECK(result.out_of_time);
  CHECK(result.finalists == 8);
  CHECK(t.bench.rounds.size() == 1);
  // Nothing is left when a single measurement takes longer than that.
  t.options.fresh = true;
  t.bench.respond = [&](const BenchJob&) {
    t.clock.advance_s(4);
    BenchAnswer answer;
    answer.samples_ms.assign(7, 1.0);
    return answer;
  };
  const TuneResult late = t.run();
  CHECK(late.records.size() == 3);
  CHECK(late.finalists == 0);
  CHECK(t.bench.rounds.empty());
}

/// The same answers, each with a taint.
template <class Answer, class Job>
std::function<Answer(const Job&)> tainted(std::function<Answer(const Job&)> respond, const std::string& taint) {
  return [respond, taint](const Job& job) {
    Answer answer = respond(job);
    answer.taints = {taint};
    return answer;
  };
}

TEST_CASE("Tainted finals decide nothing, and are held again") {
  Finale t;
  const auto honest = t.bench.respond_rounds;
  t.bench.respond_rounds = tainted(honest, "throttled");
  const TuneResult result = t.run();
  REQUIRE_FALSE(result.further.empty());
  CHECK(result.further.front().tainted == std::vector<std::string>{"throttled"});
  CHECK(best_of(result.all())->record->finals.empty());
  t.bench.respond_rounds = honest;
  t.clock.advance_s(1);
  const TuneResult again = t.run();
  CHECK_FALSE(t.bench.rounds.empty());
  CHECK(best_a(again) == 1);
  CHECK_FALSE(best_of(again.all())->record->finals.empty());
}

TEST_CASE("What was disturbed in the search meets the others in the finals, which decide") {
  Finale t;
  const auto honest = t.bench.respond;
  t.bench.respond = [honest](const BenchJob& job) {
    BenchAnswer answer = honest(job);
    if (a_of(job) == 1) answer.taints = {"throttled"};
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(best_a(result) == 1);
  CHECK(best_of(result.all())->record->tainted.empty());
  CHECK(t.observer.warnings ==
        std::vector<std::string>{"a measurement was disturbed (throttled); such results are marked "
                                 "as tainted, and a later run measures them again"});
}

TEST_CASE("A configuration that changes its process does not disturb the finals of the others") {
  Finale t;
  const auto honest = t.bench.respond;
  t.bench.respond = [honest](const BenchJob& job) {
    BenchAnswer answer = honest(job);
    if (a_of(job) == 1) answer.taints = {"the kernel left 4 descriptors open"};
    return answer;
  };
  const auto rounds = t.bench.respond_rounds;
  t.bench.respond_rounds = [rounds](const RoundsJob& job) {
    RoundsAnswer answer = rounds(job);
    for (const BenchJob& each : job.jobs)
      if (a_of(each) == 1) answer.taints = {"a kernel left 4 descriptors open"};
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(best_a(result) == 2);
  CHECK(result.finalists >= 2);
  for (const Record& record : result.further) CHECK(record.tainted.empty());
}

TEST_CASE("Where nothing is clean, tainted finals decide, and are not held again") {
  Finale t;
  t.bench.respond = tainted(t.bench.respond, "the CPUs were busy");
  t.bench.respond_rounds = tainted(t.bench.respond_rounds, "the CPUs were busy");
  const TuneResult result = t.run();
  REQUIRE_FALSE(t.bench.rounds.empty());
  CHECK_FALSE(best_of(result.all())->record->finals.empty());
  t.clock.advance_s(1);
  const TuneResult again = t.run();
  CHECK(t.bench.rounds.empty());
  CHECK(again.further.size() == result.further.size());
  CHECK(best_a(again) == best_a(result));
}
