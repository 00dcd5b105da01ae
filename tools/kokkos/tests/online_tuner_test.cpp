// The phases of one kernel's tuning, with times that the test chooses.
#include "tools/kokkos/online_tuner.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace xtune::kokkos_tools {
namespace {

space::Space numbers(std::int64_t count) {
  std::vector<Value> values;
  for (std::int64_t i = 0; i < count; ++i) values.emplace_back(i);
  return space::Space({{"x", values, false}}, {}, {});
}

OnlineTuner make_tuner(const Known& known, TunerSettings settings = {}) {
  return OnlineTuner(numbers(50), std::move(settings), known, [] { return 0.0; });
}

/// The choices of `calls` calls, each of which takes time_ms(choice).
template <class Time>
std::vector<Choice> run(OnlineTuner& tuner, int calls, const Time& time_ms) {
  std::vector<Choice> choices;
  for (int i = 0; i < calls; ++i) {
    const OnlineTuner::Answer answer = tuner.next(true);
    choices.push_back(answer.choice);
    if (answer.measured) tuner.observe(time_ms(answer.choice));
  }
  return choices;
}

}  // namespace

TEST_CASE("online tuner: the search begins with the best known configurations, at another problem size too") {
  const Known known{{{7, Outcome::ok, 0.6}, {3, Outcome::ok, 0.5}, {9, Outcome::ok, 1.4}, {8, Outcome::pruned, 0.1}},
                    {}};
  OnlineTuner tuner = make_tuner(known);
  const auto choices = run(tuner, 8 + 14, [](Choice choice) {
    return choice == Choice(3) ? 510.0 : choice == Choice(7) ? 600.0 : 1000.0;
  });
  for (int i = 0; i < 8; ++i) CHECK_FALSE(choices[static_cast<std::size_t>(i)].has_value());
  for (int i = 8; i < 15; ++i) CHECK(choices[static_cast<std::size_t>(i)] == Choice(3));
  CHECK(choices[15] == Choice(7));
  CHECK(tuner.best() == Choice(3));
  for (const Choice& choice : choices) CHECK(choice != Choice(8));
}

TEST_CASE("online tuner: when the application ends, all samples are findings and the best so far stays") {
  OnlineTuner tuner = make_tuner({});
  run(tuner, 8 + 7 + 3, [](Choice choice) { return choice ? 1.0 : 2.0; });
  tuner.stop();
  std::size_t samples = 0;
  for (const Finding& finding : tuner.take_findings()) samples += finding.samples_ms.size();
  CHECK(samples == 7 + 7 + 3);
  CHECK(tuner.decided());
  CHECK(tuner.best().has_value());
  CHECK_FALSE(tuner.next(true).measured);
  tuner.stop();
  CHECK(tuner.take_findings().empty());
}

TEST_CASE("online tuner: finals that did not end are findings, but no decision") {
  OnlineTuner tuner = make_tuner({}, {.evals = 3});
  run(tuner, 8 + 3 * 7 + 10, [](Choice choice) { return choice ? 1.0 : 2.0; });
  CHECK_FALSE(tuner.decided());
  tuner.stop();
  std::size_t samples = 0;
  for (const Finding& finding : tuner.take_findings()) {
    samples += finding.samples_ms.size();
    CHECK_FALSE(finding.final);
  }
  CHECK(samples == 7 + 3 * 7 + 10);
}

TEST_CASE("online tuner: a known winner stays only where it is still faster") {
  for (const bool holds : {true, false}) {
    OnlineTuner tuner = make_tuner({{}, Choice(5)}, {.explore = false});
    run(tuner, 200, [&](Choice choice) { return (choice.has_value() == holds) ? 1.0 : 2.0; });
    CHECK(tuner.decided());
    CHECK(tuner.best().has_value() == holds);
  }
}

TEST_CASE("online tuner: times that are not times are forgotten") {
  OnlineTuner tuner = make_tuner({});
  for (const double time_ms : {std::nan(""), HUGE_VAL, 0.0, -1.0}) {
    CHECK(tuner.next(true).measured);
    tuner.observe(time_ms);
  }
  tuner.observe(1);  // nothing is being measured
  CHECK(tuner.default_ms() == 0);
  CHECK(tuner.take_findings().empty());
}

}  // namespace xtune::kokkos_tools
