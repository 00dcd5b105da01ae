// Tests of one configuration for several cases, and of runs with other objectives than time.
#include <doctest/doctest.h>

#include <cmath>

#include "core/run/job.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::Tuning;

BenchAnswer measured_with_energy(double time_ms, double energy_j = 0) {
  BenchAnswer answer;
  answer.samples_ms.assign(7, time_ms);
  answer.telemetry.energy_j = energy_j;
  return answer;
}

Record ok(std::int64_t a, double time_ms) {
  Record record;
  record.config = {{"A", a}};
  record.key = std::to_string(a);
  record.samples_ms = {time_ms, time_ms};
  record.time_ms = summarize(record.samples_ms);
  return record;
}

TuneResult case_of(std::vector<Record> records) {
  TuneResult result;
  result.records = std::move(records);
  return result;
}

std::vector<CaseRecords> known(const std::vector<TuneResult>& cases) {
  std::vector<CaseRecords> list;
  for (const TuneResult& each : cases) list.push_back(records_of(each));
  return list;
}

std::int64_t chosen(ObjectiveSpec::Across across, const std::vector<TuneResult>& cases) {
  const Spec spec;
  const auto choice = choose_across(Objective(spec), across, known(cases));
  return choice ? std::get<std::int64_t>(choice->config.at("A")) : -1;
}

}  // namespace

TEST_CASE("The geometric mean forgives one bad case, the worst case does not") {
  // Ratios: A = 1: 1 and 3; A = 2: 1.8 and 1.8; A = 3: 2 and 1; A = 4: best of all, where it runs.
  const std::vector<TuneResult> cases{case_of({ok(1, 1), ok(2, 1.8), ok(3, 2), ok(4, 1)}),
                                      case_of({ok(1, 30), ok(2, 18), ok(3, 10)})};
  CHECK(chosen(ObjectiveSpec::Across::geomean, cases) == 3);
  CHECK(chosen(ObjectiveSpec::Across::worst, cases) == 2);
  const Spec spec;
  const auto choice = choose_across(Objective(spec), ObjectiveSpec::Across::geomean, known(cases));
  CHECK(choice->score == doctest::Approx(std::sqrt(2.0)));
  CHECK(choice->ratios == std::vector<double>{2, 1});
  CHECK(choice->records[1]->time_ms.median == 10);
  CHECK(chosen(ObjectiveSpec::Across::worst, {case_of({ok(1, 1)}), case_of({ok(2, 1)})}) == -1);
  CHECK(chosen(ObjectiveSpec::Across::worst, {}) == -1);
}

TEST_CASE("Times of finals and of the search are compared on one scale, where the device was slower in the finals") {
  // The second case: A = 1 takes 1.23 times as long as A = 4, which the finals measured half as fast as the search.
  Record finalist = ok(4, 1.5), other = ok(3, 1.8);
  for (Record* one : {&finalist, &other}) {
    one->samples_ms.assign(12, one->time_ms.median);
    one->finals = "f";
    one->unix_time_ms = 10;
  }
  const std::vector<TuneResult> cases{case_of({ok(1, 1), ok(3, 1.4), ok(4, 1.1)}),
                                      case_of({ok(1, 1.23), ok(3, 1.2), ok(4, 1), finalist, other})};
  CHECK(chosen(ObjectiveSpec::Across::geomean, cases) == 4);
}

TEST_CASE("Ratios of negative values say nothing: the message names the goal and a value") {
  Spec spec;
  spec.objective.across = ObjectiveSpec::Across::geomean;
  spec.objective.goals = {{{"A - 3", {"s.toml", 9, 12}}, false}};
  CHECK_THROWS_WITH_AS(choose_across(Objective(spec), ObjectiveSpec::Across::geomean, known({case_of({ok(1, 1)})})),
                       "s.toml:9:12: A - 3 is -2 for A=1; across compares ratios, which need values of at least 0: "
                       "name an expression that is never negative",
                       Error);
}

TEST_CASE("What is among the best of one case is wanted from the others, unless it failed there") {
  Record failed = ok(2, 1), lost = ok(3, 9);
  failed.outcome = Outcome::wrong_result;
  lost.outcome = Outcome::pruned;
  const std::vector<TuneResult> cases{case_of({ok(1, 1), ok(2, 2), ok(3, 3), ok(4, 4)}),
                                      case_of({ok(1, 1), failed, lost})};
  const Spec spec;
  const std::vector<Bindings> list = shortlist(Objective(spec), cases, 3);
  CHECK(list.size() == 3);
  CHECK(not_measured(cases[0], list).empty());
  CHECK(not_measured(cases[1], list) == std::vector<Bindings>{{{"A", std::int64_t{3}}}});
}

TEST_CASE("A run of named configurations measures these in full, from the store where it has them") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 9 }\n";
  t.finals = 8;
  t.options.only = {
      {{"A", std::int64_t{7}}}, {{"A", std::int64_t{12}}}, {{"A", std::int64_t{2}}}, {{"B", std::int64_t{2}}}};
  const TuneResult result = t.run();
  REQUIRE(result.records.size() == 2);
  CHECK(Tuning::value(result.records[0].config, "A") == 7);
  for (const BenchJob& job : t.bench.jobs) CHECK_FALSE(job.incumbent);
  CHECK(t.bench.rounds.empty());
  CHECK(t.run().from_store == 2);
}

TEST_CASE("An objective that time does not decide is searched without a race, and answers by itself") {
  Tuning t;
  t.parameters = "A = [1, 2, 3, 4]\n";
  t.finals = 8;
  t.rest = "[objective]\nminimize = \"energy_j\"\n";
  t.bench.respond = [](const BenchJob& job) { return measured_with_energy(a_of(job), 10.0 - a_of(job)); };
  const TuneResult result = t.run();
  for (const BenchJob& job : t.bench.jobs) CHECK_FALSE(job.incumbent);
  CHECK(t.bench.rounds.empty());
  REQUIRE(t.observer.last.best);
  const Objective objective(t.spec);
  const auto best = best_of(result.all(), objective.criterion(result.problem, result.device));
  CHECK(Tuning::value(best->record->config, "A") == 4);
  CHECK(best->record->telemetry.energy_j == 6.0);
  CHECK(t.run().from_store == 4);

  SUBCASE("A device that does not report it leaves no best") {
    t.options.fresh = true;
    t.bench.respond = [](const BenchJob&) { return measured_with_energy(1); };
    const TuneResult silent = t.run();
    CHECK(silent.counts.at(Outcome::ok) == 4);
    CHECK_FALSE(best_of(silent.all(), objective.criterion(silent.problem, silent.device)));
    CHECK_FALSE(t.observer.last.best);
  }
  SUBCASE("One that time decides is raced as time is") {
    t.options.fresh = true;
    t.rest = "[metrics]\nrate = \"N / time_s\"\n[objective]\nmaximize = \"rate\"\n";
    t.run();
    CHECK(t.bench.jobs.back().incumbent.has_value());
  }
}
