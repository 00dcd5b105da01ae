// Times a run, and the same run from the store.
#include "costs.hpp"

#include "cluster/shared_study.hpp"
#include "system/clock.hpp"
#include "unit/run/tuner_fixture.hpp"

using namespace xtune::system;
using namespace xtune::cluster;
using namespace xtune::run;

namespace xtune::scaling {

DriverCosts measure_costs(std::size_t evals) {
  fakes::Tuning run;
  run.parameters = "A = { min = 1, max = 30 }\nC = { min = 1, max = 30 }\nD = { min = 1, max = 30 }\n";
  run.rest = "[search]\nstrategy = \"exhaustive\"\nevals = " + std::to_string(evals) + "\n[measure]\nrace = false\n";
  run.bench.respond = [](const BenchJob& job) {
    BenchAnswer answer;
    for (int i = 0; i < 20; ++i) answer.samples_ms.push_back(1 + 0.001 * fakes::a_of(job) + 0.0001 * i);
    return answer;
  };
  std::int64_t since_ns = system_clock().now_ns();
  const auto each_s = [&] {
    const std::int64_t before_ns = std::exchange(since_ns, system_clock().now_ns());
    return static_cast<double>(since_ns - before_ns) * 1e-9 / static_cast<double>(evals);
  };
  DriverCosts costs;
  run.run();
  costs.own_s = each_s();
  RecordTail tail(run.options.store, "sm_90", "k");
  const std::size_t read = tail.read({run.options.attempt}).size();
  costs.read_s = each_s();
  const std::size_t taken = run.run().from_store;
  const double again_s = each_s();
  if (read != evals || taken != evals) throw std::logic_error("the store does not hold what was measured");
  // Results from the store are also read first, in the same way.
  costs.walk_s = std::max(again_s - costs.read_s, 0.0);
  return costs;
}

}  // namespace xtune::scaling
