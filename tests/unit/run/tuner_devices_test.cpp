// Runs on several devices: which device measures what, how they are compared, and which are excluded.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/store/record_log.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::FakeBenchService;
using fakes::Tuning;

BenchAnswer measured_busy(double time_ms) {
  BenchAnswer answer;
  answer.samples_ms.assign(7, time_ms);
  answer.stage = "measure";
  answer.busy_s = 0.5;
  return answer;
}

/// Twelve configurations of 1 ms on a device that takes its time, so that they wait for it.
struct Devices : Tuning {
  Devices() {
    parameters = "A = { min = 1, max = 12 }\n";
    rest = "[search]\nstrategy = \"exhaustive\"\n";
    target.device.uuid = "GPU-0";
    bench.turns = 8;
    bench.respond = [](const BenchJob&) { return measured_busy(1); };
  }
  FakeBenchService& add(double time_ms) {
    FakeBenchService& added = add_device();
    added.turns = 8;
    added.respond = [time_ms](const BenchJob&) { return measured_busy(time_ms); };
    return added;
  }
  std::vector<Record> stored() const { return read_records(options.store, "sm_90", "k").records; }
  static std::size_t on(const std::vector<Record>& records, const std::string& uuid) {
    return static_cast<std::size_t>(std::count_if(records.begin(), records.end(), [&](const Record& record) {
      return record.device.uuid == uuid && is_first(record);
    }));
  }
};

}  // namespace

TEST_CASE("Devices of one kind share the work, and records tell which of them measured") {
  Devices t;
  FakeBenchService &second = t.add(1.01), &third = t.add(1);
  const TuneResult result = t.run();
  CHECK(result.records.size() == 12);
  CHECK(result.counts.at(Outcome::ok) == 12);
  CHECK(t.observer.warnings.empty());
  for (const char* uuid : {"GPU-0", "GPU-1", "GPU-2"}) CHECK(Devices::on(result.records, uuid) >= 2);
  CHECK(result.device_busy_s == doctest::Approx(0.5 * (12 + 3)));
  CHECK_FALSE(t.bench.overlapped_itself);
  CHECK_FALSE(second.overlapped_itself);
  // Each received the problem and its device.
  REQUIRE(second.problems.size() == 1);
  CHECK(t.bench.problems.front().device == 0);
  CHECK(second.problems.front().device == 1);
  CHECK(third.problems.front().device == 2);
  // What compared them is kept, and answers nothing.
  const std::vector<Record> stored = t.stored();
  CHECK(stored.size() == 15);
  for (const char* uuid : {"GPU-0", "GPU-1", "GPU-2"})
    CHECK(std::count_if(stored.begin(), stored.end(),
                        [&](const Record& record) { return record.device.uuid == uuid && record.drift; }) == 1);
  const TuneResult again = t.run();
  CHECK(again.from_store == 12);
  CHECK(t.journal.empty());
}

TEST_CASE("All devices measure the same configuration before they measure anything else") {
  Devices t;
  FakeBenchService& second = t.add(1);
  t.run();
  REQUIRE(second.jobs.size() > 1);
  const std::string key = second.jobs.front().artifact.key;
  CHECK_FALSE(second.jobs.front().incumbent);
  CHECK(t.bench.jobs.front().artifact.key == key);
  CHECK(std::count_if(t.bench.jobs.begin(), t.bench.jobs.end(),
                      [&](const BenchJob& job) { return job.artifact.key == key; }) == 2);
}

TEST_CASE("A device that is slower or faster than the first by more than 2 % is reported and excluded") {
  for (const double time_ms : {1.03, 0.97}) {
    Devices t;
    FakeBenchService& second = t.add(time_ms);
    const TuneResult result = t.run();
    CHECK(result.records.size() == 12);
    CHECK(Devices::on(result.records, "GPU-0") == 12);
    CHECK(second.jobs.size() == 1);
    REQUIRE(t.observer.warnings.size() == 1);
    const std::string& warning = t.observer.warnings.front();
    const std::string difference = time_ms > 1 ? "3.0 % more" : "3.0 % less";
    for (const std::string& part : {std::string("device 1 (Fake, GPU-1)"), difference, std::string("GPU-0")})
      CHECK_MESSAGE(warning.find(part) != std::string::npos, warning);
  }
}

TEST_CASE("A difference that may be noise is none") {
  Devices t;
  t.add(1).respond = [](const BenchJob&) {
    BenchAnswer answer = measured_busy(1.04);
    answer.samples_ms = {0.99, 1.0, 1.01, 1.04, 1.07, 1.08, 1.09};
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(t.observer.warnings.empty());
  CHECK(Devices::on(result.records, "GPU-1") > 0);
}

TEST_CASE("A device on which the comparison fails is reported and excluded") {
  Devices t;
  FakeBenchService& second = t.add(1);
  second.respond = [](const BenchJob&) {
    BenchAnswer answer;
    answer.outcome = Outcome::wrong_result;
    answer.message = "y[0]: 1, expected 2";
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 12}});
  CHECK(second.jobs.size() == 1);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().find("wrong_result here: y[0]: 1, expected 2") != std::string::npos);
}

TEST_CASE("A device that does not open costs no configuration, at first or in the middle") {
  for (const std::size_t opened : {0, 2}) {
    Devices t;
    FakeBenchService& second = t.add(1);
    second.respond = [&](const BenchJob&) {
      BenchAnswer answer = measured_busy(1);
      if (second.jobs.size() <= opened) return answer;
      answer.no_device = true;
      answer.outcome = Outcome::crashed;
      answer.message = "all CUDA-capable devices are busy";
      return answer;
    };
    const TuneResult result = t.run();
    CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 12}});
    CHECK(second.jobs.size() == opened + 1);
    REQUIRE(t.observer.warnings.size() == 1);
    CHECK(t.observer.warnings.front().find("devices are busy") != std::string::npos);
  }
}

TEST_CASE("A challenger meets the incumbent as its own device would take it") {
  Devices t;
  FakeBenchService& second = t.add(1.01);
  t.run();
  REQUIRE(second.jobs.size() > 1);
  for (std::size_t i = 1; i < second.jobs.size(); ++i) {
    REQUIRE(second.jobs[i].incumbent);
    CHECK(second.jobs[i].incumbent->median_ms == doctest::Approx(1.01));
    CHECK(second.jobs[i].incumbent->q3_ms == doctest::Approx(1.01));
  }
  for (const BenchJob& job : t.bench.jobs)
    if (job.incumbent) CHECK(job.incumbent->median_ms == doctest::Approx(1));
}

TEST_CASE("Finals are held only on the first device") {
  Devices t;
  FakeBenchService& second = t.add(1);
  t.finals = 4;
  const TuneResult result = t.run();
  CHECK(result.finalists == 4);
  CHECK(second.jobs.size() > 1);
  CHECK_FALSE(t.bench.rounds.empty());
  CHECK(second.rounds.empty());
  for (const Record& record : result.further) CHECK(record.device.uuid == "GPU-0");
}

TEST_CASE("Where nothing waits for a device a second one is not even opened") {
  Devices t;
  FakeBenchService& second = t.add(1);
  t.bench.turns = 1;
  t.compiler.turns = 20;
  t.parameters = "A = { min = 1, max = 12 }\n";
  t.compiler.turns_of = [n = 0](const CompileJob&) mutable { return 20 * ++n; };
  const TuneResult result = t.run();
  CHECK(result.records.size() == 12);
  CHECK(second.jobs.empty());
}

TEST_CASE("If no configuration passes a second time on the first device, only that one is used") {
  Devices t;
  FakeBenchService& second = t.add(1);
  std::map<std::string, int> seen;
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer = measured_busy(1);
    if (++seen[job.artifact.key] > 1) answer.outcome = Outcome::crashed;
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 12}});
  CHECK(second.jobs.size() <= 3);  // jobs for the comparison, and none that count
  CHECK(Devices::on(result.records, "GPU-1") == 0);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().find("no configuration passes twice") != std::string::npos);
}

TEST_CASE("A stored configuration that no longer compiles is skipped for the next one") {
  Devices t;
  t.parameters = "A = { min = 1, max = 1 }\n";
  t.run();
  t.parameters = "A = { min = 1, max = 12 }\n";
  FakeBenchService& second = t.add(1);
  std::string lost;
  t.compiler.respond = [&](const CompileJob& job) {
    CompileAnswer answer;
    answer.artifact.key = job.key;
    if (t.define(job, "A") == "1") {
      lost = job.key;
      answer.outcome = Outcome::crashed;
    }
    return answer;
  };
  const TuneResult result = t.run();
  CHECK(result.from_store == 1);
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 12}});
  CHECK_FALSE(lost.empty());
  REQUIRE_FALSE(second.jobs.empty());
  CHECK(second.jobs.front().artifact.key != lost);
  CHECK(t.observer.warnings.empty());
}
