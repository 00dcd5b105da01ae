// The default configuration in a run, and the time of the reference in its records.
#include <doctest/doctest.h>

#include <algorithm>
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
using fakes::measured;
using fakes::Noise;
using fakes::NoisyBench;
using fakes::Tuning;

std::set<std::int64_t> tried(const TuneResult& result) {
  std::set<std::int64_t> values;
  for (const Record& record : result.records) values.insert(Tuning::value(record.config, "A"));
  return values;
}

}  // namespace

TEST_CASE("A search tries the default configuration first, within its budget") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 20 }\n";
  t.rest = "[search]\nevals = 3\n";
  TuneResult result = t.run();
  CHECK(result.evaluated() == 3);
  CHECK(result.default_config == Bindings{{"A", std::int64_t{1}}});
  CHECK(tried(result).contains(1));
  t.rest = "[search]\nevals = 1\n[dispatch]\ndefault = { A = 7 }\n";
  t.options.store = t.folder.path() / "other";
  result = t.run();
  CHECK(result.default_config == Bindings{{"A", std::int64_t{7}}});
  CHECK(tried(result) == std::set<std::int64_t>{7});
}

TEST_CASE("A default that the problem's space does not have is not the default there") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 20 }\n";
  t.parameters += "[space]\nconstraints = [\"A != 7\", \"A > 2\"]\n";
  t.rest = "[search]\nevals = 2\n[dispatch]\ndefault = { A = 7 }\n";
  const TuneResult result = t.run();
  CHECK(result.default_config == Bindings{{"A", std::int64_t{3}}});
}

TEST_CASE("At a measured point the tuned answer never loses to the default, whatever the noise") {
  // The default is as good as eight others, which fill the finals; or it is a little better or worse than they are.
  int defaults = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const double of_default = 1 + 0.005 * static_cast<double>(seed % 7) - 0.015;
    const auto true_ms = [&](const BenchJob& job) {
      const int a = a_of(job);
      return a == 1 ? of_default : a <= 12 ? 1 + 0.0005 * a : 1.2 + 0.01 * a;
    };
    Tuning t;
    t.parameters = "A = { min = 1, max = 20 }\n";
    t.finals = 4;
    Noise noise;
    noise.spread = 0.02;
    noise.spike_rate = 0.02;
    noise.drift = 0.01;
    NoisyBench device(t.bench, t.clock, noise, seed, true_ms);
    const TuneResult result = t.run();
    const std::int64_t best = best_a(result);
    const double of_best = best == 1 ? of_default : best <= 12 ? 1 + 0.0005 * static_cast<double>(best) : 2;
    // A difference within measure::finals_tie is a tie.
    CHECK(of_best <= of_default * 1.01);
    defaults += best == 1;
    // What a call would choose from the store is the same.
    const std::vector<Record> stored = read_records(t.options.store, "sm_90", "k").records;
    CHECK(Tuning::value(best_of(stored)->record->config, "A") == best);
  }
  CHECK(defaults > 0);
  CHECK(defaults < 30);
}

TEST_CASE("A default that may be the best joins the finals, even if there is no place left") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 20 }\n";
  t.finals = 2;
  t.rest = "[dispatch]\ndefault = { A = 9 }\n[measure]\nrace = false\n";
  // Equal times: of the candidates for finals only the first two have a place.
  t.bench.respond = [](const BenchJob&) { return measured(1); };
  t.bench.respond_rounds = [](const RoundsJob& job) {
    RoundsAnswer answer;
    for (std::size_t i = 0; i < job.jobs.size(); ++i) answer.samples_ms.emplace_back(job.rounds.size(), 1.0);
    return answer;
  };
  const TuneResult result = t.run();
  REQUIRE_FALSE(t.bench.rounds.empty());
  std::set<int> finalists;
  for (const BenchJob& job : t.bench.rounds.front().jobs) finalists.insert(a_of(job));
  CHECK(finalists.size() == 3);
  CHECK(finalists.contains(9));
}

TEST_CASE("The default is measured again beside the best, however slow it seemed on a cold machine") {
  Tuning t;
  t.parameters = "A = [1, 2, 3, 4]\n";
  t.finals = 8;
  const auto true_ms = [](const BenchJob& job) { return a_of(job) == 2 ? 1.0 : 1.5; };
  bool cold = true;
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer;
    answer.samples_ms.assign(7, true_ms(job) * (std::exchange(cold, false) ? 8 : 1));
    return answer;
  };
  t.bench.respond_rounds = [&](const RoundsJob& job) {
    RoundsAnswer answer;
    for (const BenchJob& each : job.jobs) answer.samples_ms.emplace_back(job.rounds.size(), true_ms(each));
    return answer;
  };
  for (const bool again : {false, true}) {
    CAPTURE(again);
    const TuneResult result = t.run();
    CHECK(result.finalists == 3);  // with the second best
    CHECK(best_a(result) == 2);
    CHECK(t.journal.empty() == again);
    const Standings standings(result.all());
    const auto found = std::find_if(standings.order().begin(), standings.order().end(),
                                    [&](const Record* record) { return record->config == result.default_config; });
    REQUIRE(found != standings.order().end());
    CHECK(standings.ratio(**found).value().value == doctest::Approx(1.5));
  }
}

TEST_CASE("The reference's time is in the records of what passed, and a stored answer still has it") {
  Tuning t;
  t.parameters = fakes::only_a;
  t.reference = "reference = { kernel = \"k\", grid = [1], block = [1] }";
  t.bench.respond = [&](const BenchJob& job) {
    REQUIRE(t.bench.problems.back().time_reference);
    t.bench.problems.back().reference_timed({8.0000000004, 8, 9});
    BenchAnswer answer = measured(a_of(job));
    if (a_of(job) == 3) answer.outcome = Outcome::wrong_result;
    return answer;
  };
  const TuneResult result = t.run();
  const Record& best = *best_of(result.all())->record;
  REQUIRE(best.reference);
  CHECK(best.reference->name == "k");
  CHECK(best.reference->samples_ms == std::vector<double>{8, 8, 9});
  CHECK(speedup(best, measure::Statistic::median) == 8);
  CHECK(reference_ms(best, measure::Statistic::mean) == doctest::Approx(25.0 / 3));
  for (const Record& record : result.records) CHECK(record.reference.has_value() == (record.outcome == Outcome::ok));
  const TuneResult again = t.run();
  CHECK(t.journal.empty());
  CHECK(speedup(*best_of(again.all())->record, measure::Statistic::median) == 8);
}

TEST_CASE("The reference is timed again beside the finals, which the speed-up compares with") {
  Tuning t;
  t.parameters = "A = [1, 2]\n";
  t.finals = 2;
  t.reference = "reference = { kernel = \"k\", grid = [1], block = [1] }";
  t.bench.respond = [&](const BenchJob&) {
    t.bench.problems.back().reference_timed({8, 8, 8});
    return measured(1);
  };
  t.bench.respond_rounds = [](const RoundsJob& job) {  // twice as slow as the search
    RoundsAnswer answer;
    answer.samples_ms.assign(job.jobs.size(), std::vector<double>(job.rounds.size(), 2.0));
    answer.reported.resize(job.jobs.size());
    if (job.time_reference) answer.reference_ms = {16, 16};
    return answer;
  };
  const TuneResult result = t.run();
  REQUIRE_FALSE(t.bench.rounds.empty());
  CHECK(t.bench.rounds.front().time_reference);
  const Record& best = *best_of(result.all())->record;
  CHECK(best.reference->samples_ms == std::vector<double>{16, 16});
  for (const Record* record : result.all()) CHECK(speedup(*record, measure::Statistic::median) == 8);
  CHECK(speedup(*best_of(t.run().all())->record, measure::Statistic::median) == 8);
}

TEST_CASE("No time is asked for of a reference that is no kernel, or where the spec does without") {
  for (const auto& [reference, more] :
       {std::pair<std::string, std::string>{"reference = { builtin = \"transpose\", x = \"x\" }", ""},
        {"reference = { kernel = \"k\", grid = [1], block = [1] }", "time_reference = false\n"}}) {
    Tuning t;
    t.reference = reference + "\n" + more;
    t.run();
    REQUIRE_FALSE(t.bench.problems.empty());
    CHECK_FALSE(t.bench.problems.back().time_reference);
  }
}
