// Messages of a run about its store.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "core/build/keys.hpp"
#include "core/run/record_keeper.hpp"
#include "core/spec/process_spec.hpp"
#include "core/store/best.hpp"
#include "core/store/record_log.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::build;
using namespace xtune::run;

TEST_CASE("Damaged records are reported once, with a count, and valid ones are kept") {
  xtune::fakes::Tuning t;
  t.run();
  REQUIRE(t.observer.warnings.empty());
  for (const auto& file : std::filesystem::recursive_directory_iterator(t.options.store / "records"))
    if (file.is_regular_file()) {
      std::ofstream records(file.path(), std::ios::app);
      for (int i = 0; i < 40; ++i) records << "{\"x\n";
    }
  const xtune::run::TuneResult again = t.run();
  CHECK(again.from_store == 6);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().find("(40 times)") != std::string::npos);
}

TEST_CASE("A store that cannot be written is reported once, and at the end the number of missing records") {
  xtune::fakes::Tuning t;
  t.options.store = "/dev/null/store";
  const xtune::run::TuneResult result = t.run();
  CHECK(result.records.size() == 6);
  const auto& warnings = t.observer.warnings;
  CHECK(std::count_if(warnings.begin(), warnings.end(),
                      [](const std::string& text) { return text.find(".jsonl") != std::string::npos; }) == 1);
  CHECK(warnings.back().rfind("6 records could not be stored", 0) == 0);
}

TEST_CASE("After an update of the driver a search is guided by earlier measurements") {
  xtune::fakes::Tuning t;
  t.parameters = xtune::fakes::only_a;
  t.rest = "[search]\nstrategy = \"local\"\n";  // one that learns
  t.target.device.driver = "12.4 (550.54)";
  CHECK(t.run().records.size() == 4);
  CHECK(t.run().from_store == 4);
  t.clock.advance_s(1);
  t.target.device.driver = "13.0 (580.65)";
  const xtune::run::TuneResult again = t.run();
  CHECK(again.from_store == 0);
  CHECK(again.records.size() == 4);
  const auto& notes = t.observer.notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("guided by 4 records of Fake (sm_90), N=8, driver 12.4 (550.54)") != std::string::npos;
  }));
  CHECK(t.run().from_store == 4);
  // A node of the cluster that was not updated yet.
  t.target.device.driver = "12.4 (550.54)";
  CHECK(t.run().from_store == 4);
}

TEST_CASE("A record whose key has no driver does not answer for a device that has one") {
  xtune::fakes::Tuning t;
  t.target.device.driver = "13.0 (580.65)";
  std::vector<xtune::store::Record> records = t.run().records;
  std::filesystem::remove_all(t.options.store / "records");
  xtune::store::RecordWriter writer(t.options.store, "sm_90", "k", "before");
  for (xtune::store::Record& record : records) {
    std::erase_if(record.key_parts, [](const auto& part) { return part.first == "driver"; });
    CHECK(xtune::build::key_of(record.key_parts) != record.key);
    record.key = xtune::build::key_of(record.key_parts);
    writer.append(record);
  }
  const xtune::run::TuneResult again = t.run();
  CHECK(again.from_store == 0);
  CHECK(again.records.size() == records.size());
}

TEST_CASE("What is measured afresh counts, though the store has records of a clock that was ahead") {
  xtune::fakes::Tuning t;
  t.parameters = xtune::fakes::only_a;
  double factor = 1;
  t.bench.respond = [&factor](const xtune::run::BenchJob& job) {
    return xtune::fakes::measured(factor * xtune::fakes::a_of(job));
  };
  t.clock.advance_s(86'400);
  t.run();
  CHECK(t.observer.warnings.empty());
  t.clock.advance_s(-86'400);
  t.options.fresh = true;
  factor = 10;
  const xtune::run::TuneResult fresh = t.run();
  CHECK(fresh.from_store == 0);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().find("4 records are dated in the future, the newest 2023-11-15 22:13:2") == 0);
  const auto records = xtune::store::read_records(t.options.store, "sm_90", "k").records;
  CHECK(std::count_if(records.begin(), records.end(), xtune::store::is_first) == 8);
  const auto best = xtune::store::best_of(records);
  REQUIRE(best);
  CHECK(best->record->time_ms.median == doctest::Approx(10));
  t.options.fresh = false;
  const xtune::run::TuneResult again = t.run();
  CHECK(again.from_store == 4);
  for (const xtune::store::Record& record : again.records) CHECK(record.time_ms.median >= 10);
}

TEST_CASE("Stamps never go back, and follow what is known of their key") {
  xtune::fakes::FakeClock clock;
  const std::int64_t start = clock.unix_time_ms();
  xtune::run::TimeStamps stamps(clock);
  const xtune::store::KeyDigest ahead("ahead"), before("before");
  stamps.learn(ahead, start + 5000);
  stamps.learn(before, start - 5000);
  CHECK(stamps.next(ahead) == start + 5001);
  CHECK(stamps.next(ahead) == start + 5002);
  CHECK(stamps.next(before) == start);
  clock.advance_s(10);
  CHECK(stamps.next(ahead) == start + 10'000);
  clock.advance_s(-9);
  CHECK(stamps.next(before) == start + 10'000);
}

TEST_CASE("A failure that the machine may have caused counts in this run, is not stored, and is told once") {
  xtune::fakes::Tuning t;
  using namespace xtune;
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = fakes::compiled(job);
    if (fakes::Tuning::define(job, "A") == "1")
      answer.outcome = Outcome::crashed, answer.lack = Lack::killed, answer.message = "killed by signal 9";
    return answer;
  };
  Lack lack = Lack::unclear;  // the second time only the message shows it
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer = fakes::measured(2);
    if (fakes::a_of(job) == 2) {
      answer.outcome = Outcome::launch_failed;
      answer.lack = std::exchange(lack, Lack::none);
      answer.message = "sh: 0: Cannot fork";
      answer.samples_ms.clear();
    }
    return answer;
  };
  const TuneResult first = t.run();
  CHECK(first.counts ==
        std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::crashed, 2}, {Outcome::launch_failed, 2}});
  REQUIRE(t.observer.warnings.size() == 2);
  CHECK(t.observer.warnings[0].find("not stored") != std::string::npos);
  CHECK(t.observer.warnings[1].rfind("4 failures are not stored", 0) == 0);
  t.compiler.respond = {};
  t.bench.respond = {};
  const TuneResult second = t.run();
  CHECK(second.from_store == 2);
  CHECK(second.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 6}});
}

TEST_CASE("A compile that failed is not tried again for other sizes and launches, except afresh") {
  xtune::fakes::Tuning t;
  using namespace xtune;
  t.parameters = "A = [1, 2]\nB = { values = [10], compile_time = false }\n";
  t.compiler.respond = [](const CompileJob& job) {
    CompileAnswer answer = fakes::compiled(job);
    if (fakes::Tuning::define(job, "A") == "2")
      answer.outcome = Outcome::compile_failed, answer.message = "k.cu:2:20: error: no";
    return answer;
  };
  const auto compiles_of_2 = [&] {
    return std::count_if(t.compiler.jobs.begin(), t.compiler.jobs.end(),
                         [](const CompileJob& job) { return fakes::Tuning::define(job, "A") == "2"; });
  };
  t.run();
  CHECK(compiles_of_2() == 1);
  t.parameters = "A = [1, 2]\nB = { values = [20], compile_time = false }\n";
  const TuneResult again = t.run();
  CHECK(compiles_of_2() == 0);
  CHECK(again.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 1}, {Outcome::compile_failed, 1}});
  for (const store::Record& record : again.records)
    if (record.outcome == Outcome::compile_failed) CHECK(record.message == "k.cu:2:20: error: no");
  t.options.fresh = true;
  t.run();
  CHECK(compiles_of_2() == 1);
}

TEST_CASE("A reference whose compiler was killed does not make the spec wrong") {
  using namespace xtune;
  for (const auto& [outcome, lack, expected] :
       {std::tuple(Outcome::crashed, Lack::killed, ErrorKind::io),
        std::tuple(Outcome::crashed, Lack::none, ErrorKind::io),
        std::tuple(Outcome::timed_out, Lack::killed, ErrorKind::io),
        std::tuple(Outcome::compile_failed, Lack::none, ErrorKind::invalid_spec),
        std::tuple(Outcome::timed_out, Lack::none, ErrorKind::invalid_spec)}) {
    fakes::Tuning t;
    std::ofstream(t.folder.path() / "ref.cu") << "extern \"C\" __global__ void ref(const float*, float*, int) {}\n";
    t.reference = "reference = { kernel = \"ref\", source = \"ref.cu\", grid = [1], block = [1] }";
    t.compiler.respond = [&, outcome = outcome, lack = lack](const CompileJob& job) {
      CompileAnswer answer = fakes::compiled(job);
      if (job.request.entry == "ref") answer.outcome = outcome, answer.lack = lack;
      return answer;
    };
    ErrorKind kind = ErrorKind::interrupted;
    try {
      t.run();
    } catch (const Error& error) {
      kind = error.kind();
    }
    CHECK(kind == expected);
  }
}

TEST_CASE("What timed out answers until its limit is raised, and is tried again then") {
  xtune::fakes::Tuning t;
  t.parameters = xtune::fakes::only_a;
  t.kernel = "compile_timeout_s = 5\n";
  t.compiler.respond = [](const xtune::run::CompileJob& job) {
    xtune::run::CompileAnswer answer = xtune::fakes::compiled(job);
    if (xtune::fakes::Tuning::define(job, "A") == "2") answer.outcome = xtune::Outcome::timed_out;
    return answer;
  };
  const xtune::run::TuneResult first = t.run();
  CHECK(first.counts.at(xtune::Outcome::timed_out) == 1);
  for (const xtune::store::Record& record : first.records)
    CHECK(record.limit_s == (record.outcome == xtune::Outcome::timed_out ? 5 : 0));
  CHECK(t.run().from_store == 4);
  t.kernel = "compile_timeout_s = 4\n";
  CHECK(t.run().from_store == 4);
  t.kernel = "compile_timeout_s = 6\n";
  t.clock.advance_s(1);
  CHECK(t.run().from_store == 3);
  CHECK(t.run().from_store == 4);
  t.kernel = "compile_timeout_s = 7\n";
  t.compiler.respond = nullptr;
  t.clock.advance_s(1);
  CHECK(t.run().counts.at(xtune::Outcome::ok) == 4);
}

TEST_CASE("A limit that is part of the key is not looked at, and records that do not name theirs are tried again") {
  xtune::spec::Spec spec;
  xtune::store::Record record;
  record.outcome = xtune::Outcome::timed_out;
  record.stage = "run";
  CHECK(xtune::run::answers_under_limits(record, spec));  // a kernel: [measure] timeout_s
  record.stage = "compile";
  CHECK_FALSE(xtune::run::answers_under_limits(record, spec));
  record.limit_s = spec.kernel.compile_timeout_s;
  CHECK(xtune::run::answers_under_limits(record, spec));
  auto process = std::make_shared<xtune::spec::ProcessSpec>();
  process->timeout_s = 20;
  spec.process = process;
  record.stage = "run";
  record.limit_s = 0.5;
  CHECK_FALSE(xtune::run::answers_under_limits(record, spec));
  record.outcome = xtune::Outcome::crashed;
  CHECK(xtune::run::answers_under_limits(record, spec));
}

namespace {

/// Runs of one space of four, measured under changing conditions.
struct Conditions : xtune::fakes::Tuning {
  std::string taint = "the CPUs were busy";
  std::size_t measured = 0;
  Conditions() {
    parameters = xtune::fakes::only_a;
    rest = "[search]\nstrategy = \"exhaustive\"\n[measure]\nrace = false\n";
    bench.respond = [this](const BenchJob&) {
      ++measured;
      BenchAnswer answer = xtune::fakes::measured(1);
      if (!taint.empty()) answer.taints = {taint};
      return answer;
    };
  }
  TuneResult next() {
    measured = 0;
    clock.advance_s(1);
    return run();
  }
  static std::size_t tainted(const TuneResult& result) {
    return static_cast<std::size_t>(std::count_if(result.records.begin(), result.records.end(),
                                                  [](const auto& record) { return !record.tainted.empty(); }));
  }
};

}  // namespace

TEST_CASE("Results of a busy machine are measured again once it is quiet") {
  Conditions t;
  CHECK(t.tainted(t.next()) == 4);
  CHECK(t.observer.warnings.size() == 1);
  t.taint.clear();
  const TuneResult quiet = t.next();
  CHECK(t.measured == 4);
  CHECK(quiet.from_store == 0);
  CHECK(t.tainted(quiet) == 0);
  CHECK(t.observer.warnings.empty());
  // Clean results count from now on, also where a later run is disturbed.
  CHECK(t.next().from_store == 4);
  t.options.fresh = true;
  t.taint = "the CPUs were busy";
  CHECK(t.tainted(t.next()) == 4);
  t.options.fresh = false;
  const TuneResult stored = t.next();
  CHECK(stored.from_store == 4);
  CHECK(t.tainted(stored) == 0);
  CHECK(t.observer.warnings.empty());
}

TEST_CASE("On a machine that is still busy tainted results answer, with a warning") {
  Conditions t;
  t.next();
  t.options.busy = true;
  const TuneResult result = t.next();
  CHECK(t.measured == 0);
  CHECK(result.from_store == 4);
  CHECK(t.tainted(result) == 4);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().starts_with("4 stored results were disturbed when measured"));
}

TEST_CASE("A run that finds the machine busy stops measuring again") {
  Conditions t;
  t.parameters = "A = { min = 1, max = 32 }\n";
  CHECK(t.tainted(t.next()) == 32);
  const TuneResult result = t.next();
  CHECK(t.measured > 0);
  CHECK(t.measured < 32);
  CHECK(result.from_store == 32 - t.measured);
  CHECK(t.observer.warnings.size() == 2);
}

TEST_CASE("A configuration that is disturbed, and later dropped from a quiet race, is not measured a third time") {
  Conditions t;
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  t.next();
  t.taint.clear();
  t.bench.respond = [&](const BenchJob& job) {
    ++t.measured;
    BenchAnswer answer = xtune::fakes::measured(job.incumbent ? 50 : 1);
    if (job.incumbent) answer.outcome = xtune::Outcome::pruned;
    return answer;
  };
  CHECK(t.next().counts.at(xtune::Outcome::pruned) == 3);
  const TuneResult stored = t.next();
  CHECK(stored.from_store == 4);
  CHECK(t.measured == 0);
  // A report of the same records shows no time that the run does not count.
  using namespace xtune::store;
  const std::vector<Record> records = read_records(t.options.store, "sm_90", "k").records;
  CHECK(ranked(records).size() == stored.counts.at(xtune::Outcome::ok));
}
