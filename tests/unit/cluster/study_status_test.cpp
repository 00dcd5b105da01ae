// The combined status of several processes of one job.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "cluster/progress.hpp"
#include "cluster/shared_study.hpp"
#include "fakes/fake_clock.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"

using namespace xtune::system;
using namespace xtune::cluster;

using namespace xtune;

namespace {

constexpr std::int64_t now_ms = 1'700'000'000'000;

ProcessProgress process(int rank, const std::string& state, double age_s = 0, const std::string& host = "elsewhere") {
  ProcessProgress made;
  made.host = host;
  made.pid = getpid();
  made.attempt = "a" + std::to_string(rank);
  made.rank = rank;
  made.size = 3;
  made.job = "17";
  made.state = state;
  made.unix_time_ms = now_ms - static_cast<std::int64_t>(age_s * 1e3);
  return made;
}

WorkProgress progress(const std::string& state, std::uint64_t done, std::optional<double> best_ms = std::nullopt) {
  WorkProgress made;
  made.spec = "gemm.toml";
  made.kernel = "gemm";
  made.arch = "sm_90";
  made.problem = {{"M", std::int64_t{4096}}};
  made.state = state;
  made.done = done;
  made.total = 100;
  made.best_ms = best_ms;
  if (best_ms) made.best = {{"X", std::int64_t{3}}};
  return made;
}

struct Store {
  TemporaryDirectory folder;
  void put(const std::string& name, const std::string& text) const {
    const auto at = study_folder(folder.path(), "s") / "progress";
    std::filesystem::create_directories(at);
    std::ofstream(at / name) << text;
  }
  void put(ProcessProgress made, std::vector<WorkProgress> works) const {
    made.work = std::move(works);
    put(made.attempt + ".json", to_json(made).dump());
  }
  StudyStatus read() const { return read_study(folder.path(), {"s"}, now_ms); }
};

}  // namespace

TEST_CASE("The furthest process determines the progress of a search, the fastest the best") {
  const Store store;
  store.put(process(1, "running", 1), {progress("running", 40, 2.0)});
  store.put(process(0, "running", 3), {progress("running", 42, 2.5)});
  const StudyStatus status = store.read();
  REQUIRE(status.processes.size() == 2);
  CHECK(status.processes[0].progress.rank == 0);
  CHECK(status.processes[0].alive);
  CHECK(status.processes[0].age_s == 3);
  REQUIRE(status.work.size() == 1);
  CHECK(status.work[0].done == 42);
  CHECK(status.work[0].total == 100);
  CHECK(status.work[0].best_ms == 2.0);
  CHECK(status.work[0].best == Bindings{{"X", std::int64_t{3}}});
  CHECK(status.work[0].state == "running");
}

TEST_CASE("What a search answered when it ended goes before a faster single measurement") {
  const Store store;
  WorkProgress ended = progress("done", 100, 3.0), earlier = ended;
  ended.best = {{"X", std::int64_t{7}}};
  ended.answered_unix_ms = now_ms - 1000;
  earlier.answered_unix_ms = now_ms - 2000;
  store.put(process(0, "done", 1), {earlier});
  store.put(process(1, "running", 1), {progress("running", 90, 2.0)});
  store.put(process(2, "done", 1), {ended});
  const StudyStatus status = store.read();
  CHECK(status.work.at(0).best_ms == 3.0);
  CHECK(status.work.at(0).best == Bindings{{"X", std::int64_t{7}}});
  CHECK(status.work.at(0).state == "done");
}

TEST_CASE("A process of another container with this machine's name is not asked for by its number") {
  const Store store;
  ProcessProgress other = process(0, "running", 1, host_name());
  other.pid = 999'999'999;
  other.pid_scope = "another";
  store.put(other, {progress("running", 11)});
  CHECK(store.read().processes.at(0).alive);
}

TEST_CASE("Silence and a missing process are signs of death; work without a process is stopped") {
  const Store store;
  ProcessProgress gone = process(2, "running", 1, host_name());
  gone.pid = 999'999'999;
  gone.pid_scope = pid_scope();
  store.put(process(0, "running", silent_after_s + 1), {progress("running", 10)});
  store.put(process(1, "interrupted", 100), {progress("stopped", 12)});
  store.put(gone, {progress("running", 11)});
  StudyStatus status = store.read();
  for (const ProcessStatus& each : status.processes) CHECK_FALSE(each.alive);
  CHECK(status.work.at(0).state == "stopped");

  store.put(process(3, "done", 5), {progress("done", 100)});
  status = store.read();
  CHECK_FALSE(status.processes.back().alive);
  CHECK(status.work.at(0).state == "done");
}

TEST_CASE("Damaged files are warnings, a study that is not there is empty") {
  const Store store;
  CHECK(store.read().processes.empty());
  store.put("a.json", "{\"torn");
  store.put("b.json", "[]");
  store.put(process(0, "running"), {});
  const StudyStatus status = store.read();
  CHECK(status.processes.size() == 1);
  CHECK(status.warnings.size() == 2);
  CHECK(studies_in(store.folder.path()) == std::vector<std::string>{"s"});
  CHECK(studies_in(store.folder.path() / "none").empty());
}

TEST_CASE("A process writes now and then, and its end at once") {
  const TemporaryDirectory store;
  fakes::FakeClock clock;
  ProgressFile file(store.path(), "a/b", process(0, "running"), clock);
  const auto read = [&] { return read_study(store.path(), {"a/b"}, clock.unix_time_ms()); };
  file.work("copy.toml", {}).done = 1;
  file.write();
  CHECK(read().processes.at(0).progress.work.empty());
  clock.advance_s(5.5);
  file.write();
  CHECK(read().work.at(0).done == 1);
  file.work("copy.toml", {}).done = 2;
  file.end("done");
  CHECK(read().work.at(0).done == 2);
  CHECK(read().processes.at(0).progress.state == "done");
  CHECK(read().processes.at(0).progress.job == "17");
}

TEST_CASE("A store that cannot be written costs nothing") {
  ProgressFile file("/proc/none", "s", process(0, "running"), system_clock());
  file.end("done");
  CHECK(read_study("/proc/none", {"s"}, now_ms).processes.empty());
}
