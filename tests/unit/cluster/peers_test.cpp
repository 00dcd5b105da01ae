// Several processes at one search, each in a thread: everything is measured once, all have the same best, and work that
// one abandons is taken over by the others.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "cluster/shared_study.hpp"
#include "core/store/record_log.hpp"
#include "fakes/running_clock.hpp"
#include "system/event_loop.hpp"
#include "system/files.hpp"
#include "unit/run/tuner_fixture.hpp"

using namespace xtune::system;
using namespace xtune::cluster;
using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::Tuning;

/// Processes of one job, with one store.
struct SharedJob {
  TemporaryDirectory folder;
  std::vector<std::unique_ptr<Tuning>> processes;
  std::vector<TuneResult> results;
  std::vector<std::string> failures;
  std::set<std::size_t> cannot_store;
  std::optional<std::latch> all_there;

  explicit SharedJob(int size, const std::string& parameters, const std::string& rest = "") {
    for (int i = 0; i < size; ++i) {
      Tuning& each = *processes.emplace_back(std::make_unique<Tuning>());
      each.options.store = folder.path();
      each.options.attempt = "attempt" + std::to_string(i);
      each.parameters = parameters;
      each.rest = rest;
      const auto time_ms = [](const BenchJob& job) { return 1.0 + 0.1 * std::abs(a_of(job) - 7); };
      each.bench.respond = [time_ms](const BenchJob& job) {
        BenchAnswer answer;
        answer.samples_ms.assign(7, time_ms(job));
        return answer;
      };
      // A device that does not change its speed.
      each.bench.respond_rounds = [time_ms](const RoundsJob& job) {
        RoundsAnswer answer;
        for (const BenchJob& one : job.jobs) answer.samples_ms.emplace_back(job.rounds.size(), time_ms(one));
        return answer;
      };
    }
  }

  void run() {
    results.resize(processes.size());
    failures.resize(processes.size());
    all_there.emplace(static_cast<std::ptrdiff_t>(processes.size()));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < processes.size(); ++i) threads.emplace_back([this, i] { run_one(i); });
    for (std::thread& thread : threads) thread.join();
  }

  void run_one(std::size_t i) {
    Tuning& each = *processes[i];
    Rank rank;
    rank.rank = static_cast<int>(i);
    rank.size = static_cast<int>(processes.size());
    rank.study = "job";
    try {
      fakes::RunningClock clock(each.clock);
      SharedStudy peers(each.loop, clock, {folder.path(), "sm_90", "k", {{"N", std::int64_t{8}}}}, rank,
                        each.options.attempt);
      each.options.peers = &peers;
      all_there->arrive_and_wait();
      if (cannot_store.contains(i)) each.options.store = "/dev/null/store";
      results[i] = each.run();
    } catch (const std::exception& error) {
      failures[i] = error.what();
      if (!each.options.peers) all_there->count_down();
    }
  }

  std::size_t measured() const {
    std::size_t count = 0;
    for (const auto& each : processes) count += each->bench.jobs.size();
    return count;
  }
  std::map<std::int64_t, int> times_measured() const {
    std::map<std::int64_t, int> times;
    for (const auto& each : processes)
      for (const BenchJob& job : each->bench.jobs) ++times[a_of(job)];
    return times;
  }
};

std::int64_t best_a(const TuneResult& result) {
  const auto best = best_of(result.all());
  return best ? Tuning::value(best->record->config, "A") : -1;
}

}  // namespace

TEST_CASE("Four processes measure a space once between them, and each knows all of it") {
  for (const std::string strategy : {"exhaustive", "random", "local", "auto"}) {
    CAPTURE(strategy);
    SharedJob job(4, "A = { min = 1, max = 32 }\n", "[search]\nstrategy = \"" + strategy + "\"\nevals = 32\n");
    job.run();
    CHECK(job.measured() == 32);
    std::uint64_t from_peers = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(job.failures[i] == "");
      CHECK(job.results[i].records.size() == 32);
      CHECK(best_a(job.results[i]) == 7);
      from_peers += job.results[i].from_peers;
    }
    CHECK(from_peers == 3 * 32);
    const std::vector<Record> stored = read_records(job.folder.path(), "sm_90", "k").records;
    CHECK(std::count_if(stored.begin(), stored.end(), [](const Record& record) { return !record.drift; }) == 32);
  }
}

TEST_CASE("A search that learns takes the same path with others as on its own") {
  const std::string rest = "[search]\nstrategy = \"local\"\nevals = 24\nseed = 3\n";
  SharedJob together(3, "A = { min = 1, max = 32 }\nC = { min = 1, max = 9 }\n", rest);
  together.run();
  std::vector<std::set<std::string>> tried;
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(together.failures[i] == "");
    CHECK(together.results[i].records.size() == 24);
    auto& keys = tried.emplace_back();
    for (const Record& record : together.results[i].records) keys.insert(record.key);
  }
  CHECK(tried[0] == tried[1]);
  CHECK(tried[0] == tried[2]);
  CHECK(together.measured() == 24);
}

TEST_CASE("What a process that stops had claimed is measured by the others") {
  SharedJob job(3, "A = { min = 1, max = 32 }\n", "[search]\nstrategy = \"exhaustive\"\n");
  Tuning& quitter = *job.processes[0];
  quitter.observer.also = [&](const Record&) { quitter.stop = true; };
  job.run();
  CHECK(job.results[0].interrupted);
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(job.failures[i] == "");
    CHECK(job.results[i].records.size() == 32);
    CHECK(best_a(job.results[i]) == 7);
  }
  for (const auto& [a, times] : job.times_measured()) CHECK(times <= 2);  // twice where it was in flight
}

TEST_CASE("A process claims blocks as its device takes them, however fast it compiles") {
  SharedJob job(2, "A = { min = 1, max = 32 }\n", "[search]\nstrategy = \"exhaustive\"\n");
  Tuning& quick = *job.processes[0];
  job.processes[1]->stop = true;
  quick.bench.turns = 20;
  std::size_t measured = 0, most_ahead = 0;
  quick.bench.respond = [&, respond = quick.bench.respond](const BenchJob& asked) {
    most_ahead = std::max(most_ahead, quick.compiler.jobs.size() - ++measured);
    return respond(asked);
  };
  job.run();
  CHECK(job.failures[0] == "");
  CHECK(measured == 32);
  CHECK(most_ahead <= 6);  // twice two compilers and a device
}

TEST_CASE("Finals are held once, by one of them") {
  SharedJob job(3, "A = { min = 1, max = 12 }\n", "[search]\nstrategy = \"exhaustive\"\n");
  for (const auto& each : job.processes) {
    each->finals = 4;
    each->bench.respond = [](const BenchJob& asked) {
      BenchAnswer answer;
      answer.samples_ms.assign(7, 1.0 + 0.001 * std::abs(a_of(asked) - 7));
      return answer;
    };
    each->bench.respond_rounds = [](const RoundsJob& asked) {
      RoundsAnswer answer;
      for (const BenchJob& one : asked.jobs)
        answer.samples_ms.emplace_back(asked.rounds.size(), 1.0 + 0.001 * std::abs(a_of(one) - 7));
      return answer;
    };
  }
  job.run();
  int holders = 0;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(job.failures[i] == "");
    holders += !job.processes[i]->bench.rounds.empty();
    CHECK(job.results[i].finalists == 5);  // four, and the default configuration, which is within 1 % of them
    CHECK(best_a(job.results[i]) == best_a(job.results[0]));
    CHECK((std::abs(best_a(job.results[i]) - 7) <= 2 || best_a(job.results[i]) == 1));
    for (const Record& record : job.results[i].further) ids.insert(record.finals);
  }
  CHECK(holders == 1);
  CHECK(ids.size() == 1);
}

TEST_CASE("A fresh run uses only the records of its own job") {
  const auto rest = "[search]\nstrategy = \"exhaustive\"\n";
  SharedJob job(2, "A = { min = 1, max = 8 }\n", rest);
  Tuning& before = *job.processes[0];
  before.options.attempt = "yesterday";
  before.run();
  CHECK(before.bench.jobs.size() == 8);
  before.bench.jobs.clear();
  before.options.attempt = "attempt0";
  for (const auto& each : job.processes) {
    each->clock.advance_s(3600);
    each->options.fresh = true;
  }
  job.run();
  CHECK(job.measured() == 8);
  for (const TuneResult& result : job.results) CHECK(result.records.size() == 8);
}

TEST_CASE("What a process stored last is waited for where the filesystem shows it late") {
  const TemporaryDirectory folder;
  EventLoop loop;
  fakes::FakeClock clock;
  const SharedStudy::Place place{folder.path(), "sm_90", "k", {}};
  Rank rank;
  rank.size = 2;
  rank.study = "job";
  SharedStudy heir(loop, clock, place, rank, "heir");
  std::filesystem::path written;
  {
    SharedStudy ended(loop, clock, place, rank, "ended");
    RecordWriter writer(folder.path(), "sm_90", "k", "ended");
    CHECK(ended.take("a"));
    Record record;
    record.kernel = "k";
    record.key = "of a";
    record.outcome = Outcome::rejected;
    record.device.arch = "sm_90";
    writer.append(record);
    ended.stored_one();
    written = writer.path();
  }
  const std::filesystem::path hidden = folder.path() / "hidden";
  std::filesystem::rename(written, hidden);
  for (int look = 0; look < 5; ++look) {
    CHECK(heir.news().empty());
    CHECK_FALSE(heir.take("a"));
  }
  std::filesystem::rename(hidden, written);
  CHECK(heir.news().size() == 1);
  CHECK(heir.take("a"));
}

TEST_CASE("A store that cannot hold claims is an error that says what to do") {
  SharedJob job(2, "A = { min = 1, max = 8 }\n");
  std::filesystem::create_directories(job.folder.path());
  std::ofstream(job.folder.path() / "studies") << "in the way";
  job.run();
  for (const std::string& failure : job.failures) CHECK(failure.find("studies") != std::string::npos);
}

TEST_CASE("A process that cannot store its results does not wait and does the rest itself; the others measure it too") {
  SharedJob job(3, "A = { min = 1, max = 96 }\n", "[search]\nstrategy = \"exhaustive\"\n");
  job.cannot_store = {0, 1};  // each would wait for the other one
  job.run();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(job.failures[i] == "");
    CHECK_FALSE(job.results[i].out_of_time);
    CHECK(job.results[i].records.size() == 96);
    CHECK(best_a(job.results[i]) == 7);
  }
  std::set<std::string> stored;
  for (const Record& record : read_records(job.folder.path(), "sm_90", "k").records) stored.insert(record.key);
  CHECK(stored.size() == 96);
}

TEST_CASE("If no process can store anything, each does all of it") {
  for (const std::string strategy : {"exhaustive", "local"}) {
    CAPTURE(strategy);
    SharedJob job(3, "A = { min = 1, max = 40 }\n", "[search]\nstrategy = \"" + strategy + "\"\nevals = 40\n");
    job.cannot_store = {0, 1, 2};
    for (const auto& each : job.processes) each->finals = 2;
    job.run();
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(job.failures[i] == "");
      CHECK_FALSE(job.results[i].out_of_time);
      CHECK(job.results[i].records.size() == 40);
      CHECK(best_a(job.results[i]) == 7);
    }
  }
}

TEST_CASE("A study that is removed leaves each process to go on by itself") {
  for (const std::string strategy : {"exhaustive", "local"}) {
    CAPTURE(strategy);
    SharedJob job(3, "A = { min = 1, max = 96 }\n", "[search]\nstrategy = \"" + strategy + "\"\nevals = 96\n");
    std::atomic<int> records = 0;
    for (const auto& each : job.processes)
      each->observer.also = [&](const Record&) {
        std::error_code ignored;
        if (++records == 9) std::filesystem::remove_all(job.folder.path() / "studies", ignored);
      };
    job.run();
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(job.failures[i] == "");
      CHECK(job.results[i].records.size() == 96);
      CHECK(best_a(job.results[i]) == 7);
    }
  }
}
