// Ten processes on one store without a lock, each killed repeatedly: acknowledged records exist, and no process ever
// sees half a record or another's artifact.
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/store/bundle.hpp"
#include "core/store/store_view.hpp"
#include "core/store/upkeep.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;

using namespace xtune;
namespace fs = std::filesystem;

namespace {

// Each message is one int: a record that is stored, by its BLOCK; or what went wrong.
constexpr int wrong_artifact = -1, damaged_read = -2, failed = -3;

Artifact artifact_of(int number) {
  Artifact artifact;
  artifact.key = sha256("artifact " + std::to_string(number));
  artifact.backend = "cuda", artifact.arch = "sm_90", artifact.format = "cubin", artifact.entry_symbol = "gemm";
  artifact.image = std::string(20'000, static_cast<char>('a' + number)) + artifact.key;
  return artifact;
}

// Never returns: works until it is killed.
[[noreturn]] void work(const fs::path& store, int first, int out) {
  const auto tell = [&](int message) {
    if (::write(out, &message, sizeof message) != sizeof message) _exit(1);
  };
  try {
    const ArtifactCache cache(store);
    RecordWriter writer(store, "sm_90", "gemm", "a" + std::to_string(first));
    for (int i = 0;; ++i) {
      writer.append(example_record(first + i, 1 + i % 7));
      tell(first + i);
      ArtifactCache(store).insert(artifact_of(i % 3), {});
      const auto found = cache.find(artifact_of((first + i) % 3).key);
      if (found && found->image != artifact_of((first + i) % 3).image) tell(wrong_artifact);
      if (i % 4 != 0) continue;
      const StoreView view = StoreView::load(store, "sm_90", "gemm");
      for (const std::string& warning : view.warnings())
        if (warning.find("the last line is torn") == std::string::npos) tell(damaged_read);
    }
  } catch (const std::exception&) {
    tell(failed);
  }
  _exit(1);
}

struct Worker {
  pid_t process = 0;
  int in = -1;
  std::uint64_t messages_to_live = 0;
};

Worker start(const fs::path& store, int first, Random& random) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    ::close(ends[0]);
    work(store, first, ends[1]);
  }
  ::close(ends[1]);
  return {child, ends[0], 1 + random.below(12)};
}

// False: the worker's end of the pipe is closed.
bool receive(Worker& worker, std::set<std::int64_t>& stored, std::set<int>& faults) {
  int message = 0;
  if (::read(worker.in, &message, sizeof message) != sizeof message) return false;
  if (message < 0)
    faults.insert(message);
  else
    stored.insert(message);
  return true;
}

void end(Worker& worker, std::set<std::int64_t>& stored, std::set<int>& faults) {
  ::kill(worker.process, SIGKILL);
  while (receive(worker, stored, faults)) {
  }
  int status = 0;
  waitpid(worker.process, &status, 0);
  ::close(worker.in);
}

}  // namespace

TEST_CASE("ten writers that are killed at any moment lose no record and never show a wrong artifact") {
  const TemporaryDirectory folder, merged;
  const fs::path store = folder.path() / "store";
  Random random(5);
  std::set<std::int64_t> stored;
  std::set<int> faults;
  std::array<Worker, 10> workers;
  int next = 0;
  for (Worker& worker : workers) worker = start(store, next++ * 10'000, random);
  for (int kills = 0; kills < 60;) {
    std::array<pollfd, 10> waiting{};
    for (std::size_t i = 0; i < workers.size(); ++i) waiting[i] = {workers[i].in, POLLIN, 0};
    REQUIRE(::poll(waiting.data(), waiting.size(), 60'000) > 0);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (!waiting[i].revents) continue;
      REQUIRE(receive(workers[i], stored, faults));
      if (--workers[i].messages_to_live > 0) continue;
      end(workers[i], stored, faults);
      workers[i] = start(store, next++ * 10'000, random);
      if (++kills % 20 == 0) merge_store(merged.path(), store);  // while the others write
    }
  }
  for (Worker& worker : workers) end(worker, stored, faults);
  CHECK(faults.empty());
  CHECK(stored.size() >= 60);

  const auto blocks = [](const fs::path& of) {
    std::set<std::int64_t> found;
    for (const Record& record : read_records(of, "sm_90", "gemm").records)
      found.insert(std::get<std::int64_t>(record.config.at("BLOCK")));
    return found;
  };
  const std::set<std::int64_t> found = blocks(store);
  CHECK(std::includes(found.begin(), found.end(), stored.begin(), stored.end()));
  CHECK(StoreView::load(store, "sm_90", "gemm").records() == found.size());
  const VerifyReport report = verify_store(store, true);
  CHECK(report.sound());
  for (const StoreDamage& damage : report.damage) CHECK(damage.what.find("torn") != std::string::npos);
  CHECK(blocks(store) == found);
  merge_store(merged.path(), store);
  CHECK(blocks(merged.path()) == found);
  for (int i = 0; i < 3; ++i)
    if (const auto artifact = ArtifactCache(store).find(artifact_of(i).key))
      CHECK(artifact->image == artifact_of(i).image);
}
