// Tests of runs that leave stored results unread: they answer as runs do that read all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/store/best.hpp"
#include "core/store/record_log.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::best_a;
using fakes::measured;
using fakes::Tuning;

std::vector<std::int64_t> ties_of(const TuneResult& result) {
  std::vector<std::int64_t> values;
  const std::vector<const Record*> all = result.all();
  const Best best = best_of(all).value();
  for (const Record* record : best.ties) values.push_back(Tuning::value(record->config, "A"));
  return values;
}

/// Twenty configurations: the first five are hardly apart.
struct Rows : Tuning {
  Rows() {
    parameters = "A = { min = 1, max = 20 }\n";
    rest = "[search]\nstrategy = \"exhaustive\"\n[measure]\nrace = false\n";
    bench.respond = [](const BenchJob& job) {
      const double time_ms = a_of(job) <= 5 ? 1 + 0.001 * a_of(job) : a_of(job);
      BenchAnswer answer = measured(time_ms);
      for (int i = 0; i < 10; ++i) answer.samples_ms.push_back(time_ms * (1 + 0.01 * (i % 3 - 1)));
      return answer;
    };
  }
  TuneResult run_from_rows(std::size_t best) {
    options.best_only = best;
    return run();
  }
};

std::uint64_t unread(const TuneResult& result, Outcome outcome) {
  const auto found = result.unread.find(outcome);
  return found == result.unread.end() ? 0 : found->second;
}

}  // namespace

TEST_CASE("Of stored results only the best and what ties with them are among the records") {
  Rows t;
  t.run();
  const TuneResult whole = t.run(), rows = t.run_from_rows(2);
  CHECK(rows.from_store == 20);
  CHECK(rows.evaluated() == 20);
  CHECK(whole.evaluated() == 20);
  CHECK(rows.counts == whole.counts);
  CHECK(best_a(rows) == best_a(whole));
  CHECK(ties_of(rows) == ties_of(whole));
  CHECK(ties_of(rows).size() == 4);
  CHECK(rows.records.size() == 5);
  CHECK(unread(rows, Outcome::ok) == 15);
  const auto order = ranked(rows.records);
  for (std::size_t i = 0; i < 2; ++i) CHECK(order[i]->samples_ms == ranked(whole.records)[i]->samples_ms);
  // An observer that wants stored records gets them, even if nothing else reads them.
  CHECK(t.observer.records.size() == 20);
  CHECK(t.observer.last.done == 20);
  REQUIRE(t.observer.last.best);
}

TEST_CASE("The default configuration is read however slow it is: the answer compares it with the best") {
  Rows t;
  t.bench.respond = [](const BenchJob& job) { return measured(40.0 - static_cast<double>(a_of(job))); };
  t.run();
  const TuneResult rows = t.run_from_rows(1);
  CHECK(best_a(rows) == 20);
  CHECK(rows.default_config == Bindings{{"A", std::int64_t{1}}});
  CHECK(rows.counts.at(Outcome::ok) == 20);
  CHECK(std::any_of(rows.records.begin(), rows.records.end(),
                    [&](const Record& record) { return record.config == rows.default_config; }));
}

TEST_CASE("What is measured now and what is stored rank together") {
  Rows t;
  t.parameters = "A = { min = 4, max = 20 }\n";
  t.run();
  t.parameters = "A = { min = 1, max = 20 }\n";
  const TuneResult result = t.run_from_rows(3);
  CHECK(result.from_store == 17);
  CHECK(result.evaluated() == 20);
  CHECK(best_a(result) == 1);
  CHECK(ties_of(result) == std::vector<std::int64_t>{2, 3, 4, 5});
}

TEST_CASE("Failures that stay unread count, and each kind has an example with a message") {
  Rows t;
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = fakes::compiled(job);
    if (std::stoi(Tuning::define(job, "A")) > 10) {
      answer.outcome = Outcome::compile_failed;
      answer.message = "error: A is too large";
    }
    return answer;
  };
  t.run();
  const TuneResult rows = t.run_from_rows(1);
  CHECK(rows.from_store == 20);
  CHECK(rows.counts.at(Outcome::compile_failed) == 10);
  CHECK(unread(rows, Outcome::compile_failed) == 9);
  CHECK(std::count_if(rows.records.begin(), rows.records.end(), [](const Record& record) {
          return record.outcome == Outcome::compile_failed && record.message == "error: A is too large";
        }) == 1);
}

TEST_CASE("Stored losers of the race are settled as if they had been read") {
  for (const bool from_rows : {false, true}) {
    Tuning t;
    t.parameters = "A = [1, 2, 3, 4]\n";
    t.rest = "[search]\nstrategy = \"exhaustive\"\n";
    t.bench.respond = [](const BenchJob& job) {
      BenchAnswer answer = measured(a_of(job) == 2 ? 1.0 : a_of(job) == 4 ? 30.3 : 10.0 * a_of(job));
      if (job.incumbent && Race(job.incumbent, 0).lost(answer.samples_ms)) answer.outcome = Outcome::pruned;
      return answer;
    };
    CHECK(t.run().counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::pruned, 2}});
    if (from_rows) t.options.best_only = 1;
    const TuneResult again = t.run();
    CHECK(again.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::pruned, 2}});
    CHECK(t.bench.jobs.empty());
    CHECK(best_a(again) == 2);
    CHECK(unread(again, Outcome::pruned) == (from_rows ? 2 : 0));
    t.options.top = 3;
    t.clock.advance_s(1);
    const TuneResult in_full = t.run();
    CHECK(in_full.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 4}});
    CHECK(in_full.evaluated() == 4);
    CHECK(unread(in_full, Outcome::pruned) == 0);
    CHECK(t.bench.jobs.size() == 2);
  }
}

TEST_CASE("Rows take part in finals, and one that is found wrong there is none of the best") {
  Rows t;
  t.run();
  t.finals = 3;
  t.clock.advance_s(1);
  t.bench.respond_rounds = [](const RoundsJob& job) {
    RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    for (std::size_t i = 0; i < job.jobs.size(); ++i)
      answer.samples_ms[i].assign(job.rounds.size(), a_of(job.jobs[i]) == 3 ? 0.5 : 1);
    return answer;
  };
  const TuneResult finals = t.run_from_rows(1);
  CHECK(finals.from_store == 20);
  CHECK(finals.finalists == 3);
  CHECK(best_a(finals) == 3);
  const TuneResult again = t.run();
  CHECK(again.finalists == 3);
  CHECK(best_a(again) == 3);
  CHECK(t.bench.rounds.empty());
}

TEST_CASE("A record file that goes away while rows of it are served costs a warning, not the run") {
  Rows t;
  t.run();
  t.observer.also = [&](const Record&) { std::filesystem::remove_all(t.options.store / "records"); };
  const TuneResult result = t.run_from_rows(1);
  CHECK(result.evaluated() == 20);
  CHECK_FALSE(t.observer.warnings.empty());
}
