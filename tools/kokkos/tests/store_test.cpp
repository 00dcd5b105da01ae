// What the connector keeps, and what several processes do to one store.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/store/record_log.hpp"
#include "fake_kokkos.hpp"
#include "support/file_tree.hpp"
#include "system/files.hpp"

namespace xtune::kokkos_tools {
namespace {

store::RecordSet stored(const std::string& store, const std::string& kernel = "spmv") {
  return store::read_records(store, cpu::cpu_info().arch, kernel);
}

std::string part_of(const store::Record& record, const std::string& name) {
  for (const auto& [key, value] : record.key_parts)
    if (key == name) return value;
  return "none";
}

/// Starts a process that runs the body.
template <class Body>
pid_t start(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A process with its own connector, which succeeds if the last of its calls of a kernel has the fastest sizes.
pid_t start_rank(const std::string& store, int calls) {
  return start([=] {
    FakeKokkos kokkos(store, thorough());
    FakeKernel kernel = team_kernel();
    run_many(kokkos, kernel, calls);
    kokkos.tool().finalize();
    return kokkos.run(kernel) == std::vector{4, 32} ? 0 : 1;
  });
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("kokkos tools: records have device, version, execution space, kernel and samples") {
  const test::FileTree tree;
  {
    FakeKokkos kokkos(tree.path("store"), thorough());
    FakeKernel kernel = team_kernel();
    run_many(kokkos, kernel, 20'000);
  }
  const store::RecordSet set = stored(tree.path("store"));
  CHECK(set.warnings.empty());
  CHECK(set.records.size() > 10);
  std::size_t defaults = 0, finals = 0;
  for (const store::Record& each : set.records) {
    CHECK(store::read_record_line(to_json(each).dump()).kind == store::RecordLine::Kind::record);
    CHECK(part_of(each, "kokkos") == "5.2.2");
    CHECK(part_of(each, "space") == "OpenMP");
    CHECK(part_of(each, "kernel") == "spmv");
    CHECK(part_of(each, "device").find(cpu::cpu_info().arch) != std::string::npos);
    CHECK_FALSE(each.samples_ms.empty());
    defaults += each.config == Bindings{{"vector_length", "auto"}, {"team_size", "auto"}};
    finals += !each.finals.empty();
  }
  CHECK(defaults == 2);  // before the search, and in the finals
  CHECK(finals >= 2);
}

TEST_CASE("kokkos tools: what was measured before a decision is kept when the application ends") {
  const test::FileTree tree;
  for (const int calls : {5, 40, 2000}) {
    FakeKokkos kokkos(tree.path("store " + std::to_string(calls)));
    FakeKernel kernel = team_kernel();
    run_many(kokkos, kernel, calls);
    kokkos.tool().finalize();
    std::size_t samples = 0;
    for (const store::Record& each : stored(tree.path("store " + std::to_string(calls))).records)
      samples += each.samples_ms.size();
    if (calls == 5) CHECK(samples == 3);  // the first call shows the variables, the second one warms up
    CHECK(samples >= static_cast<std::size_t>(calls) / 20);
    run_many(kokkos, kernel, 100);  // after the end, too
    kokkos.tool().finalize();
  }
}

TEST_CASE("kokkos tools: a run that was too short for a decision is continued, at another problem size too") {
  const test::FileTree tree;
  FakeKernel kernel = team_kernel();
  {
    FakeKokkos kokkos(tree.path("store"), {.evals = 400, .share = 1});
    run_many(kokkos, kernel, 600);
    kokkos.tool().finalize();
  }
  const store::RecordSet set = stored(tree.path("store"));
  const store::Record* best = nullptr;
  for (const store::Record& each : set.records)
    if (each.outcome == Outcome::ok && each.config.at("team_size") != Value("auto") &&
        (!best || each.time_ms.median < best->time_ms.median))
      best = &each;
  REQUIRE(best);
  REQUIRE(best->time_ms.median < 1);
  const auto size = [&](const char* name, const std::vector<int>& list) {
    return list.at(static_cast<std::size_t>(std::get<double>(best->config.at(name)) * double(list.size())));
  };
  const std::vector sizes{size("vector_length", kernel.lists[0]), size("team_size", kernel.lists[1])};
  FakeKokkos kokkos(tree.path("store"));
  FakeKernel larger = team_kernel();
  larger.time_ms = [&](const std::vector<int>& chosen) { return 10 * kernel.time_ms(chosen); };
  for (int i = 0; i < 9; ++i) CHECK(kokkos.run(larger) == std::vector{1, 64});
  CHECK(kokkos.run(larger) == sizes);
}

TEST_CASE("kokkos tools: the winner of the newest finals meets Kokkos' own choice") {
  const test::FileTree tree;
  const std::vector own{1, 64}, first{4, 32}, second{8, 16};
  for (const auto& fastest : {first, second}) {
    FakeKokkos kokkos(tree.path("store"), {.mode = Mode::fresh, .evals = 400, .share = 1});
    FakeKernel kernel = team_kernel();
    kernel.time_ms = [&](const std::vector<int>& sizes) { return sizes == fastest ? 0.3 : sizes == own ? 1.0 : 1.5; };
    run_many(kokkos, kernel, 20'000);
    CHECK(kokkos.run(kernel) == fastest);
  }
  FakeKokkos kokkos(tree.path("store"));
  FakeKernel kernel = team_kernel();
  int newest = 0;
  for (int i = 0; i < 20; ++i) {
    const auto sizes = kokkos.run(kernel);
    newest += sizes == second;
    CHECK((sizes == second || sizes == own));
  }
  CHECK(newest > 5);
}

TEST_CASE("kokkos tools: ranks share a store, and a killed one loses nothing that it wrote") {
  const test::FileTree tree;
  const std::string store = tree.path("store");
  const pid_t endless = start_rank(store, std::numeric_limits<int>::max());
  while (stored(store).records.empty()) ::usleep(1000);
  std::vector<pid_t> ranks;
  for (int i = 0; i < 3; ++i) ranks.push_back(start_rank(store, 20'000));
  for (const pid_t rank : ranks) CHECK(end_of(rank) == 0);
  ::kill(endless, SIGKILL);
  CHECK(end_of(endless) == -SIGKILL);
  const store::RecordSet set = stored(store);
  std::set<std::string> writers;
  for (const store::Record& each : set.records) writers.insert(each.attempt);
  CHECK(set.warnings.size() <= 1);  // the line that the killed one was writing
  CHECK(writers.size() == 4);
  CHECK(end_of(start_rank(store, 200)) == 0);  // starts from what they found
}

TEST_CASE("kokkos tools: an application needs its descriptors") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"));
  const std::size_t before = open_files();
  for (int i = 0; i < 50; ++i) {
    FakeKernel kernel = team_kernel("kernel " + std::to_string(i));
    run_many(kokkos, kernel, 30);
  }
  CHECK_FALSE(stored(tree.path("store"), "kernel 49").records.empty());
  CHECK(open_files() == before);
}

TEST_CASE("kokkos tools: a store that cannot be written to, or is full, is one line, and tuning goes on") {
  const test::FileTree tree;
  tree.write("file", "not a directory");
  for (const bool full : {false, true}) {
    const std::string output = tree.path(full ? "full.txt" : "file.txt");
    const int ended = end_of(start([&] {
      const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(file, STDERR_FILENO);
      if (full) {
        ::signal(SIGXFSZ, SIG_DFL);
        const rlimit limit{3000, 3000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
      }
      FakeKokkos kokkos(tree.path(full ? "store" : "file"), thorough());
      FakeKernel kernel = team_kernel(), other = team_kernel("other");
      run_many(kokkos, kernel, 20'000);
      run_many(kokkos, other, 20'000);
      kokkos.tool().finalize();
      return kokkos.run(kernel) == std::vector{4, 32} && kokkos.run(other) == std::vector{4, 32} ? 0 : 1;
    }));
    CHECK(ended == 0);
    const std::string text = system::read_file(output);
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
    CHECK(text.starts_with("xtune: warning: nothing more is stored: cannot "));
  }
}

TEST_CASE("kokkos tools: a table for nobody does not end the application") {
  const test::FileTree tree;
  CHECK(end_of(start([&] {
          ::signal(SIGPIPE, SIG_DFL);
          int ends[2];
          if (::pipe(ends) != 0) return 2;
          ::close(ends[0]);
          ::dup2(ends[1], STDERR_FILENO);
          FakeKokkos kokkos(tree.path("store"), {.verbose = true});
          FakeKernel kernel = team_kernel();
          run_many(kokkos, kernel, 20);
          kokkos.tool().finalize();
          return 0;
        })) == 0);
}

TEST_CASE("kokkos tools: nothing is kept with XTUNE_DISABLE_CACHE") {
  const test::FileTree tree;
  for (const char* value : {"1", "records"}) {
    ::setenv("XTUNE_DISABLE_CACHE", value, 1);
    FakeKokkos kokkos(tree.path("none"));
    FakeKernel kernel = team_kernel();
    run_many(kokkos, kernel, 2000);
    kokkos.tool().finalize();
    ::unsetenv("XTUNE_DISABLE_CACHE");
    CHECK_FALSE(std::filesystem::exists(tree.path("none")));
  }
}

TEST_CASE("kokkos tools: a forked child keeps and tries nothing") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"), thorough());
  FakeKernel known = team_kernel("known"), other = team_kernel("other");
  run_many(kokkos, known, 10);  // its search begins
  kokkos.tool().before_fork();
  kokkos.tool().after_fork(true);
  for (int i = 0; i < 100; ++i) {
    CHECK(kokkos.run(known) == std::vector{1, 64});
    CHECK(kokkos.run(other) == std::vector{1, 64});
  }
  kokkos.tool().finalize();
  CHECK(stored(tree.path("store"), "known").records.size() == 1);
  CHECK(stored(tree.path("store"), "other").records.empty());
}

}  // namespace xtune::kokkos_tools
