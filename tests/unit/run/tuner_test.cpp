// Tests of the tuner's loop over fake services: outcomes, the store, budgets, failures, the order of work.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/store/record_log.hpp"
#include "tuner_fixture.hpp"
#include "worker/ipc/protocol.hpp"

using namespace xtune::store;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using fakes::compiled;
using fakes::measured;
using fakes::only_a;
using fakes::threads_of;
using fakes::Tuning;

BenchAnswer failed(Outcome outcome, const std::string& stage) {
  BenchAnswer answer;
  answer.outcome = outcome;
  answer.stage = stage;
  answer.message = "because";
  return answer;
}

std::size_t stored_records(const Tuning& t) { return read_records(t.options.store, "sm_90", "k").records.size(); }

}  // namespace

TEST_CASE("A reference that most configurations contradict in the same way is suspect") {
  Tuning t;
  t.parameters = only_a;
  double of_4 = 3;
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer = measured(1);
    const auto a = Tuning::value(job.config, "A");
    if (a == 1) return answer;
    answer = failed(Outcome::wrong_result, "validate");
    validate::Comparison& compared = answer.validation.emplace();
    compared.output = "y";
    compared.passed = false;
    compared.count = 64;
    compared.mismatched = 1;
    compared.first_index = 63;
    compared.first_coordinates = {7, 7};
    compared.actual = a == 4 ? of_4 : 3;
    return answer;
  };
  t.run();
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings[0].find("3 of 3 wrong results differ from the reference in the same way (y: 1 of 64 "
                                    "elements; first at [7, 7], where they have 3 and the reference has 0), and only "
                                    "one configuration agrees with it") != std::string::npos);
  t.run();  // from the store
  CHECK(t.observer.warnings.size() == 1);
  std::filesystem::remove_all(t.options.store);
  of_4 = 5;
  t.run();
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings[0].find("2 of 3 wrong results") != std::string::npos);
}

TEST_CASE("Without a reference, a run says which configurations leave elements unwritten") {
  Tuning t;
  t.parameters = only_a;
  t.reference.clear();
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer = measured(1);
    if (Tuning::value(job.config, "A") < 3) return answer;
    answer.validation.emplace();
    answer.validation->output = "y";
    answer.validation->count = 64;
    answer.validation->unwritten = 32;
    return answer;
  };
  t.run();
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings[0].find("2 configurations leave elements of outputs unwritten, e.g. A=") == 0);
}

TEST_CASE("Every configuration is recorded once, and the store holds what the result holds") {
  Tuning t;
  const TuneResult result = t.run();
  CHECK(result.records.size() == 6);
  CHECK(result.space_size == 6);
  CHECK(result.counts.at(Outcome::ok) == 6);
  CHECK(result.from_store == 0);
  CHECK_FALSE(result.interrupted);
  CHECK_FALSE(result.out_of_time);
  std::set<std::string> keys;
  for (const Record& record : result.records) {
    keys.insert(record.key);
    CHECK(record.kernel == "k");
    CHECK(record.attempt == "first");
    CHECK(record.toolchain == "fake compiler 1");
    CHECK(record.stage == "measure");
    CHECK(record.time_ms.median == 1.0);
    CHECK_FALSE(record.host.empty());
    CHECK(record.unix_time_ms == t.clock.unix_time_ms());
  }
  CHECK(keys.size() == 6);
  CHECK(t.observer.records.size() == 6);
  CHECK(t.observer.last.done == 6);
  CHECK(t.observer.last.total == 6);
  const RecordSet set = read_records(t.options.store, "sm_90", "k");
  CHECK(set.warnings.empty());
  REQUIRE(set.records.size() == 6);
  for (const Record& record : set.records) CHECK(keys.count(record.key) == 1);
}

TEST_CASE("Configurations that differ in launch-only parameters compile once and are measured apart") {
  Tuning t;
  t.run();
  CHECK(t.compiler.jobs.size() == 3);
  REQUIRE(t.bench.jobs.size() == 6);
  std::set<std::pair<std::string, int>> tried;
  for (const BenchJob& job : t.bench.jobs) {
    REQUIRE(job.scalars.size() == 1);
    std::int32_t b = 0;
    std::memcpy(&b, job.scalars[0].bytes.data(), sizeof b);
    tried.insert({job.artifact.key, b});
  }
  CHECK(tried.size() == 6);
}

TEST_CASE("The bench service learns the problem once, before the first measurement") {
  Tuning t;
  t.run();
  REQUIRE(t.bench.problems.size() == 1);
  const Problem& problem = t.bench.problems[0];
  REQUIRE(problem.arguments.size() == 3);
  REQUIRE(problem.arguments[0].buffer.has_value());
  CHECK(problem.arguments[0].buffer->shape == std::vector<std::uint64_t>{8, 8});
  CHECK(problem.arguments[1].buffer->role == ArgRole::out);
  CHECK_FALSE(problem.arguments[2].buffer.has_value());
  CHECK(problem.reference.kind == ReferenceSpec::Kind::builtin);
  CHECK(problem.scratch == t.options.scratch);
  const auto first_problem = std::find(t.journal.begin(), t.journal.end(), "problem");
  const auto first_bench =
      std::find_if(t.journal.begin(), t.journal.end(), [](const std::string& e) { return e.starts_with("bench "); });
  CHECK(first_problem < first_bench);
}

TEST_CASE("A configuration that fails costs only itself, and its outcome is recorded with stage and message") {
  Tuning t;
  t.parameters = "A = [1, 2, 3, 4, 5, 6, 7, 8]\n";
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = compiled(job);
    const std::string a = Tuning::define(job, "A");
    if (a == "1")
      answer.outcome = Outcome::compile_failed, answer.message = "expected ';'", answer.log = "k.cu:1: error";
    if (a == "2") answer.outcome = Outcome::crashed, answer.message = "the compiler crashed";
    if (a == "3") answer.outcome = Outcome::timed_out;
    return answer;
  };
  t.bench.respond = [&](const BenchJob& job) {
    switch (threads_of(job) / 32) {
      case 4:
        return failed(Outcome::crashed, "run");
      case 5:
        return failed(Outcome::timed_out, "run");
      case 6:
        return failed(Outcome::wrong_result, "validate");
      case 7:
        return failed(Outcome::launch_failed, "load");
      default:
        return measured(2.0);
    }
  };
  const TuneResult result = t.run();
  CHECK(t.outcome_by_a(result) == std::map<std::int64_t, Outcome>{{1, Outcome::compile_failed},
                                                                  {2, Outcome::crashed},
                                                                  {3, Outcome::timed_out},
                                                                  {4, Outcome::crashed},
                                                                  {5, Outcome::timed_out},
                                                                  {6, Outcome::wrong_result},
                                                                  {7, Outcome::launch_failed},
                                                                  {8, Outcome::ok}});
  CHECK(result.records.size() == 8);
  CHECK(t.bench.jobs.size() == 5);
  for (std::size_t i = 0; i < t.observer.records.size(); ++i) {
    const Record& record = t.observer.records[i];
    const auto a = Tuning::value(record.config, "A");
    CHECK(record.stage == (a <= 3 ? "compile" : a <= 5 ? "run" : a == 6 ? "validate" : a == 7 ? "load" : "measure"));
    if (a == 1) {
      CHECK(record.message == "expected ';'");
      CHECK(t.observer.logs[i] == "k.cu:1: error");
    }
    if (a == 6) CHECK(record.message == "because");
    if (a != 8) CHECK(record.time_ms.count == 0);
  }
  CHECK(stored_records(t) == 8);
}

TEST_CASE("What the worker says against its samples is kept with them") {
  Tuning t;
  t.parameters = only_a;
  t.bench.respond = [](const BenchJob& job) {
    BenchAnswer answer = measured(2.0);
    if (threads_of(job) == 64) answer.taints = {"throttled", "ECC errors"};
    return worker::bench_answer_from_json(worker::to_json(answer));
  };
  for (const Record& record : t.run().records)
    CHECK(record.tainted.size() == (Tuning::value(record.config, "A") == 2 ? 2 : 0));
}

TEST_CASE("A fully stored run asks neither service for anything") {
  Tuning t;
  t.bench.respond = [](const BenchJob& job) {
    return threads_of(job) == 32 ? failed(Outcome::wrong_result, "validate") : measured(threads_of(job));
  };
  t.run();
  const TuneResult again = t.run();
  CHECK(again.from_store == 6);
  CHECK(again.records.size() == 6);
  CHECK(again.counts.at(Outcome::ok) == 4);
  CHECK(again.counts.at(Outcome::wrong_result) == 2);
  CHECK(t.journal.empty());
  CHECK(t.observer.from_store == 6);
  CHECK(again.compile_wall_s == 0);
  CHECK(stored_records(t) == 6);
}

TEST_CASE("A new value of one parameter evaluates the new configurations only") {
  Tuning t;
  t.run();
  t.parameters = "A = [1, 2, 4, 3]\nB = { values = [10, 20], compile_time = false }\n";
  const TuneResult result = t.run();
  CHECK(result.records.size() == 8);
  CHECK(result.from_store == 6);
  REQUIRE(t.compiler.jobs.size() == 1);
  CHECK(Tuning::define(t.compiler.jobs[0], "A") == "4");
  CHECK(t.bench.jobs.size() == 2);
  CHECK(stored_records(t) == 8);
}

TEST_CASE("Another compiler, device, problem or source is another question") {
  Tuning t;
  t.parameters = only_a;
  t.run();
  CHECK(t.run().from_store == 4);
  t.target.backend.toolchain = "fake compiler 2";
  CHECK(t.run().from_store == 0);
  t.target.device.name = "Another";
  CHECK(t.run().from_store == 0);
  std::ofstream(t.folder.path() / "k.cu", std::ios::app) << "// changed\n";
  CHECK(t.run().from_store == 0);
  t.rest = "[measure]\nwarmup = 9\n";
  CHECK(t.run().from_store == 0);
  t.target.device.driver = "another driver";  // after an update times may differ
  CHECK(t.run().from_store == 0);
}

TEST_CASE("fresh measures again; retry_failed tries stored crashes and timeouts again, nothing else") {
  Tuning t;
  t.parameters = only_a;
  t.bench.respond = [](const BenchJob& job) {
    switch (threads_of(job) / 32) {
      case 1:
        return failed(Outcome::crashed, "run");
      case 2:
        return failed(Outcome::timed_out, "run");
      case 3:
        return failed(Outcome::wrong_result, "validate");
      default:
        return measured(1);
    }
  };
  t.run();
  t.options.retry_failed = true;
  t.clock.advance_s(1);
  t.bench.respond = nullptr;
  const TuneResult retried = t.run();
  CHECK(retried.from_store == 2);
  CHECK(t.bench.jobs.size() == 2);
  CHECK(retried.counts.at(Outcome::ok) == 3);
  // The newest record of a key answers.
  t.options.retry_failed = false;
  CHECK(t.run().counts.at(Outcome::ok) == 3);
  t.options.fresh = true;
  const TuneResult fresh = t.run();
  CHECK(fresh.from_store == 0);
  CHECK(t.bench.jobs.size() == 4);
}

TEST_CASE("evals is honoured exactly") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 30 }\n";
  for (const std::uint64_t evals : {1, 2, 7, 29, 30, 31, 1000}) {
    CAPTURE(evals);
    for (const std::string strategy : {"auto", "exhaustive", "random"}) {
      CAPTURE(strategy);
      t.options.fresh = true;
      t.rest = "[search]\nstrategy = \"" + strategy + "\"\nevals = " + std::to_string(evals) + "\n";
      const TuneResult result = t.run();
      CHECK(result.records.size() == std::min<std::uint64_t>(evals, 30));
      CHECK(t.bench.jobs.size() == std::min<std::uint64_t>(evals, 30));
    }
  }
}

TEST_CASE("A search repeats from the store, whichever worker was first") {
  for (const std::string strategy : {"auto", "local"})
    for (int delay = 0; delay < 4; ++delay) {
      CAPTURE(strategy);
      CAPTURE(delay);
      Tuning t;
      t.parameters = "A = { min = 1, max = 32 }\nC = { min = 1, max = 20 }\n";
      t.rest = "[search]\nstrategy = \"" + strategy + "\"\nevals = 80\n";
      t.compiler.turns_of = [&](const CompileJob& job) {
        return 1 + (job.key[0] * (delay * delay + 1)) % (delay + 2) * 3;
      };
      t.bench.turns = 1 + delay % 2;
      const auto time_of = [](const BenchJob& job) {
        return 1 + std::abs(static_cast<int>(threads_of(job)) - 640) + (job.artifact.key[0] % 16) * 0.25;
      };
      t.bench.respond = [&](const BenchJob& job) { return measured(time_of(job)); };
      t.bench.respond_rounds = [&](const RoundsJob& job) {
        RoundsAnswer answer;
        answer.samples_ms = {std::vector<double>(job.rounds.size(), time_of(job.jobs[0]))};
        return answer;
      };
      const TuneResult result = t.run();
      CHECK(result.records.size() == 80);
      const TuneResult again = t.run();
      CHECK(again.from_store == 80);
      CHECK(t.journal.empty());
    }
}

TEST_CASE("The budget of seconds ends the run, which keeps its measurements") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 30 }\n";
  t.rest = "[search]\nseconds = 3.5\n";
  t.bench.respond = [&](const BenchJob&) {
    t.clock.advance_s(1);
    return measured(1);
  };
  const TuneResult result = t.run();
  CHECK(result.records.size() == 4);
  CHECK(result.out_of_time);
  CHECK_FALSE(result.interrupted);
  CHECK(result.total_s == doctest::Approx(4));
  CHECK(stored_records(t) == 4);
}

TEST_CASE("The stop flag ends the run at once; its measurements are kept, and the next run does the rest") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 20 }\n";
  t.observer.also = [&](const Record&) { t.stop = t.observer.records.size() == 5; };
  const TuneResult result = t.run();
  CHECK(result.interrupted);
  CHECK(result.records.size() == 5);
  CHECK(stored_records(t) == 5);
  // Nothing of the abandoned work comes back later.
  t.loop.run_ready();
  t.loop.run_ready();
  CHECK(stored_records(t) == 5);
  t.observer.also = nullptr;
  t.stop = false;
  const TuneResult rest = t.run();
  CHECK(rest.from_store == 5);
  CHECK(t.bench.jobs.size() == 15);
  CHECK(rest.records.size() == 20);
}

TEST_CASE("Draining begins nothing new, and keeps what the device is at") {
  Tuning t;
  t.parameters = "A = { min = 1, max = 20 }\n";
  t.bench.turns = 5;
  std::atomic<bool> drain{false};
  t.options.drain = &drain;
  // By the next turn of the loop the device has the sixth in hand.
  t.observer.also = [&](const Record&) {
    if (t.observer.records.size() == 5) t.loop.post([&] { drain = true; });
  };
  const TuneResult result = t.run();
  CHECK(result.interrupted);
  CHECK_FALSE(result.out_of_time);
  CHECK(t.bench.jobs.size() == 6);
  CHECK(result.records.size() == 6);
  CHECK(stored_records(t) == 6);
  drain = false;
  t.observer.also = nullptr;
  CHECK(t.run().from_store == 6);
  CHECK(t.bench.jobs.size() == 14);
}

TEST_CASE("A run that was stopped before it began does nothing") {
  Tuning t;
  t.stop = true;
  const TuneResult result = t.run();
  CHECK(result.interrupted);
  CHECK(result.records.empty());
  CHECK(t.journal.empty());
}

TEST_CASE("A store that cannot be written costs a warning, not the run") {
  Tuning t;
  t.parameters = only_a;
  std::ofstream(t.options.store) << "a file where the folder should be";
  const TuneResult result = t.run();
  CHECK(result.counts.at(Outcome::ok) == 4);
  CHECK_FALSE(t.observer.warnings.empty());
}

TEST_CASE("Limits of the device reject a launch before it compiles") {
  Tuning t;
  t.parameters = "A = [1, 32, 33]\n";
  const TuneResult result = t.run();
  CHECK(t.outcome_by_a(result) ==
        std::map<std::int64_t, Outcome>{{1, Outcome::ok}, {32, Outcome::ok}, {33, Outcome::rejected}});
  CHECK(t.compiler.jobs.size() == 2);
  for (const Record& record : result.records)
    if (record.outcome == Outcome::rejected) {
      CHECK(record.stage == "space");
      CHECK(record.message.find("1056") != std::string::npos);
    }
}

TEST_CASE("Resources from the compiler reject a launch before it runs") {
  Tuning t;
  t.parameters = only_a;
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = compiled(job);
    if (Tuning::define(job, "A") == "2") answer.artifact.usage.static_shared_bytes = 1 << 20;
    if (Tuning::define(job, "A") == "3") answer.artifact.usage.max_threads_per_block = 64;
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(t.outcome_by_a(result) ==
        std::map<std::int64_t, Outcome>{
            {1, Outcome::ok}, {2, Outcome::rejected}, {3, Outcome::rejected}, {4, Outcome::ok}});
  CHECK(t.bench.jobs.size() == 2);
}
