// The schedule of two devices, in simulated time: the savings compared with one.
#include <doctest/doctest.h>

#include "fakes/simulated_schedule.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;

struct Schedule {
  double total_s = 0;
  std::vector<double> begun_s[2];  ///< by device
  std::size_t finals_rounds[2] = {0, 0};
};

/// 120 configurations through 28 compilers.
Schedule schedule(const SimulatedSteps& steps, std::size_t devices, int finals = 0, double compile_s = 1.2) {
  fakes::Tuning t;
  t.parameters = "A = { min = 1, max = 30 }\nB = [1, 2, 3, 4]\n";
  t.rest = "[search]\nstrategy = \"exhaustive\"\n";
  t.target.device.uuid = "GPU-0";
  if (devices == 2) t.add_device();
  SimulatedTime time(t.loop, t.clock);
  SimulatedCompilers compilers(time, 28);
  compilers.compile_s = compile_s;
  bool has_reference = false;
  SimulatedBench first(time, steps, has_reference), second(time, steps, has_reference);
  std::vector<BenchService*> benches{&first};
  if (devices == 2) benches.push_back(&second);
  t.spec = parse_spec(t.spec_text(), "t.toml", t.folder.path());
  t.spec.measure.finals = finals;
  const TuneResult result = tune(t.spec, t.spec.cases.front(), t.target, t.options,
                                 {t.loop, compilers, benches, t.clock, t.stop}, t.observer);
  CHECK(result.counts.at(Outcome::ok) == 120);
  CHECK(t.observer.warnings.empty());
  return {result.total_s, {first.begun_s, second.begun_s}, {first.finals_rounds, second.finals_rounds}};
}

}  // namespace

TEST_CASE("Where measuring takes the time, two devices take little more than half of what one takes") {
  SimulatedSteps steps;
  steps.configuration_s = 0.5;
  const Schedule one = schedule(steps, 1), two = schedule(steps, 2);
  MESSAGE("one device ", one.total_s, " s, two ", two.total_s, " s: ", one.total_s / two.total_s, "x");
  CHECK(one.total_s / two.total_s > 1.85);
}

TEST_CASE("A second device opens beside the first, and joins it after the configuration that compares them") {
  const SimulatedSteps steps;
  const Schedule two = schedule(steps, 2);
  REQUIRE(two.begun_s[1].size() > 1);
  // From when configurations wait for the first device, 1.2 s on, it opens; then it reads the reference.
  CHECK(two.begun_s[1][0] == doctest::Approx(1.2 + steps.open_s + steps.hand_on_s));
  // The first device has measured the same configuration meanwhile.
  CHECK(two.begun_s[1][1] == doctest::Approx(two.begun_s[1][0] + steps.configuration_s));
}

TEST_CASE("The first device opens while the first configuration compiles") {
  SimulatedSteps steps;
  const Schedule one = schedule(steps, 1);
  CHECK(one.begun_s[0][0] == doctest::Approx(1.2 + steps.reference_s));
}

TEST_CASE("Finals on one device bound what a second one saves") {
  // gemm at 8192^3 on an H200: 85 ms a configuration in the race, 26.5 ms a launch of a finalist.
  SimulatedSteps steps;
  steps.configuration_s = 0.085;
  steps.launch_s = 0.0265;
  const Schedule one = schedule(steps, 1, 8), two = schedule(steps, 2, 8);
  MESSAGE("one device ", one.total_s, " s, two ", two.total_s, " s: ", one.total_s / two.total_s, "x");
  CHECK(two.finals_rounds[1] == 0);
  CHECK(two.finals_rounds[0] == one.finals_rounds[0]);
  CHECK(one.total_s / two.total_s > 1.4);
}
