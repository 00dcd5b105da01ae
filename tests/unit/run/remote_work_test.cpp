// Devices of other machines: batches, records, losses, finals, and an end before the answers.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "core/store/best.hpp"
#include "core/store/record_log.hpp"
#include "fakes/noisy_bench.hpp"
#include "system/files.hpp"
#include "tuner_fixture.hpp"
#include "xtune/remote.hpp"

using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::best_a;
using fakes::Noise;
using fakes::NoisyBench;
using fakes::Tuning;

/// Twenty configurations: 1.00, 1.05, 1.10 ... ms.
struct Machine : Tuning {
  Noise noise;
  std::optional<NoisyBench> device;
  Machine() {
    parameters = "A = { min = 1, max = 20 }\n";
    finals = 4;
    device.emplace(bench, clock, noise, 1, [](const BenchJob& job) { return 1 + 0.05 * (a_of(job) - 1); });
  }
};

/// A worker whose batches each have their own store. Its answers come one call later.
struct Worker final : RemoteDevices {
  Machine machine;
  std::vector<Batch> batches;
  std::map<std::int64_t, std::string> lost;  ///< by A: why
  std::string lost_finals;
  bool answers_never = false;
  int cancelled = 0;

  std::string target() override { return {}; }
  std::size_t parallel() const override { return 3; }
  void send(const Batch& batch) override {
    batches.push_back(batch);
    waiting_.push_back(batch);
  }
  std::vector<Answer> answers() override {
    std::vector<Answer> answers;
    if (answers_never) return answers;
    for (const Batch& batch : std::exchange(waiting_, {}))
      for (Answer& each : measured(batch)) answers.push_back(std::move(each));
    return answers;
  }
  void cancel_all() override { ++cancelled; }

 private:
  std::vector<Answer> measured(const Batch& batch) {
    Answer answer{batch.id, {}, {}, {}, {}};
    std::vector<Answer> answers;
    machine.options.only.clear();
    for (std::size_t i = 0; i < batch.configs.size(); ++i) {
      if (batch.finals && !lost_finals.empty()) {
        answer.configs.push_back(i);
        answer.lost = lost_finals;
        continue;
      }
      const auto found = lost.find(Tuning::value(batch.configs[i], "A"));
      if (found != lost.end()) {
        answers.push_back({batch.id, {i}, {}, {}, found->second});
        continue;
      }
      answer.configs.push_back(i);
      machine.options.only.push_back(batch.configs[i]);
    }
    if (!answer.lost.empty()) return {answer};
    if (answer.configs.empty()) return answers;
    machine.options.compare = batch.finals;
    machine.options.store = machine.folder.path() / ("store-" + std::to_string(batch.id));
    machine.options.attempt = "there";
    machine.run();
    std::vector<std::string> warnings;
    for (const RecordSource& file : record_files(machine.options.store, "sm_90", "k", warnings))
      answer.records += system::read_file(file.path);
    answers.push_back(std::move(answer));
    return answers;
  }
  std::vector<Batch> waiting_;
};

struct Driver : Machine {
  Worker worker;
  Driver() { remote = &worker; }
};

}  // namespace

TEST_CASE("Batches are measured elsewhere, and the store then answers") {
  Driver t;
  const TuneResult result = t.run();
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 20}});
  CHECK(t.compiler.jobs.empty());
  CHECK(t.bench.jobs.empty());
  CHECK(best_a(result) == 1);
  REQUIRE(t.worker.batches.size() >= 4);
  std::size_t sent = 0;
  for (const RemoteDevices::Batch& batch : t.worker.batches) {
    CHECK(batch.configs.size() <= 8);
    CHECK(batch.problem == Bindings{{"N", std::int64_t{8}}});
    if (!batch.finals) sent += batch.configs.size();
  }
  CHECK(sent == 20);
  for (const Record& record : result.records) CHECK(record.attempt == "first");
  t.worker.batches.clear();
  const TuneResult again = t.run();
  CHECK(again.from_store == 20);
  CHECK(t.worker.batches.empty());
  CHECK(best_a(again) == 1);
}

TEST_CASE("One machine holds the finals, and they decide") {
  Driver t;
  const TuneResult result = t.run();
  REQUIRE(!t.worker.batches.empty());
  CHECK(t.worker.batches.back().finals);
  CHECK(result.finalists == t.worker.batches.back().configs.size());
  CHECK(result.further.size() == result.finalists);
  for (const Record& record : result.further) {
    CHECK(record.finals == result.further.front().finals);
    CHECK(record.attempt == "first");
    CHECK(record.unix_time_ms == result.further.front().unix_time_ms);
  }
}

TEST_CASE("A lost configuration is crashed in this run only") {
  Driver t;
  t.worker.lost[7] = "gone";
  t.worker.lost[8] = "";
  const TuneResult result = t.run();
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 18}, {Outcome::crashed, 2}});
  for (const Record& record : result.records) {
    if (Tuning::value(record.config, "A") == 7) CHECK(record.message == "gone");
    if (Tuning::value(record.config, "A") == 8) CHECK(record.message.find("stored no result") != std::string::npos);
  }
  t.worker.batches.clear();
  t.worker.lost.clear();
  const TuneResult again = t.run();
  CHECK(again.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 20}});
  CHECK(again.from_store == 18);
  CHECK(best_a(again) == 1);
}

TEST_CASE("Without finals, the fastest measurement wins") {
  Driver t;
  t.worker.lost_finals = "the node is gone";
  const TuneResult result = t.run();
  CHECK(best_a(result) == 1);
  CHECK(result.further.empty());
  CHECK(t.observer.warnings == std::vector<std::string>{"no finals were held: the node is gone"});
}

TEST_CASE("A run that is stopped does not wait for other machines") {
  Driver t;
  t.worker.answers_never = true;
  const system::EventLoop::Watch soon = t.loop.call_after(60, [&] { t.stop = true; });
  const TuneResult result = t.run();
  CHECK(result.interrupted);
  CHECK(result.records.empty());
  CHECK(t.worker.cancelled == 1);
}
