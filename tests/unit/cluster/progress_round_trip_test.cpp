// The progress file of a process survives JSON, for any contents.
#include <doctest/doctest.h>

#include "cluster/progress.hpp"
#include "support/random_values.hpp"

namespace xtune::cluster {
XTUNE_MEMBERS(WorkProgress, spec, kernel, arch, device, problem, state, error, done, total, best_ms, best,
              answered_unix_ms)
XTUNE_MEMBERS(ProcessProgress, host, attempt, job, pid_scope, pid, rank, size, restart, state, unix_time_ms, work)
}  // namespace xtune::cluster

TEST_CASE("Progress with random values comes back from JSON as it was") {
  using namespace xtune;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    auto process = test::RandomValues(seed, true).make<cluster::ProcessProgress>();
    for (cluster::WorkProgress& work : process.work)
      if (!work.best_ms) work.best.clear(), work.answered_unix_ms = 0;
    const nlohmann::json json = nlohmann::json::parse(cluster::to_json(process).dump());
    CAPTURE(json.dump());
    CHECK(test::same(cluster::process_progress_from_json(json), process));
  }
}
