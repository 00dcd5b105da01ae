// What compile times are expected: of configurations never seen, from few examples, and when nothing can be said.
#include "core/search/compile_times.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.hpp"

using namespace xtune::base;
using namespace xtune::search;
using namespace xtune::space;

using namespace xtune;

namespace {

Parameter powers(const std::string& name) {
  Parameter parameter{name, {}};
  for (std::int64_t value = 1; value <= 32; value *= 2) parameter.values.emplace_back(value);
  return parameter;
}

/// Seconds that grow by the work of a thread, as unrolled code does; WAY doubles them.
double seconds(const Space& space, std::uint64_t index) {
  const auto places = space.value_indices(index);
  return 0.05 * std::pow(2.0, places[0]) * std::pow(1.5, places[1]) * (places[2] == 1 ? 2 : 1);
}

Space unrolled() {
  return Space({powers("THREAD_M"), powers("THREAD_N"), Parameter{"WAY", {std::string("plain"), std::string("async")}}},
               {}, {});
}

}  // namespace

TEST_CASE("Two thirds of a space tell what the others take, though they are noisy") {
  const Space space = unrolled();
  CompileTimes times(space);
  Random random(1);
  for (std::uint64_t i = 0; i < space.size(); ++i)
    if (i % 3 != 0) times.learn(space.value_indices(i), seconds(space, i) * (0.8 + 0.4 * random.uniform()));
  for (std::uint64_t i = 0; i < space.size(); i += 3) {
    const auto expected = times.expected_s(space.value_indices(i));
    REQUIRE(expected);
    CAPTURE(i);
    CHECK(*expected > 0.7 * seconds(space, i));
    CHECK(*expected < 1.4 * seconds(space, i));
  }
}

TEST_CASE("Too few examples tell nothing, and a time of nothing is none") {
  const Space space = unrolled();
  CompileTimes times(space);
  const auto first = space.value_indices(0);
  for (const double cached : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL})
    for (std::size_t i = 0; i < CompileTimes::min_examples; ++i) times.learn(first, cached);
  CHECK_FALSE(times.expected_s(first));
  for (std::size_t i = 1; i < CompileTimes::min_examples; ++i) times.learn(first, 2);
  CHECK_FALSE(times.expected_s(first));
  times.learn(first, 2);
  // A parameter that was never varied is expected to make no difference.
  CHECK(times.expected_s(first).value() == doctest::Approx(2));
  CHECK(times.expected_s(space.value_indices(space.size() - 1)).value() == doctest::Approx(2));
}

TEST_CASE("Facts that are learned later count") {
  const Space space = unrolled();
  CompileTimes times(space);
  const auto config = space.value_indices(5);
  for (std::size_t i = 0; i < CompileTimes::min_examples; ++i) times.learn(config, 1);
  CHECK(times.expected_s(config).value() == doctest::Approx(1));
  for (std::size_t i = 0; i < 20 * CompileTimes::min_examples; ++i) times.learn(config, 10);
  CHECK(times.expected_s(config).value() > 8);
}

TEST_CASE("A space of one configuration has a time, and one of a thousand words has none") {
  const Space one({Parameter{"A", {std::int64_t{1}}}}, {}, {});
  CompileTimes times(one);
  for (std::size_t i = 0; i < CompileTimes::min_examples; ++i) times.learn(one.value_indices(0), 3);
  CHECK(times.expected_s(one.value_indices(0)).value() == doctest::Approx(3));

  Parameter words{"WORD", {}};
  for (int i = 0; i < 1000; ++i) words.values.emplace_back("w" + std::to_string(i));
  const Space many({words}, {}, {});
  CompileTimes unlearnt(many);
  for (std::uint64_t i = 0; i < many.size(); ++i) unlearnt.learn(many.value_indices(i), 1);
  CHECK_FALSE(unlearnt.expected_s(many.value_indices(0)));
}

TEST_CASE("Near its end a search avoids compiles that take longer than the rest of it") {
  const Space space = unrolled();
  CompileDelays delays(space, 4), unknown(space, 0);
  for (std::uint64_t i = 0; i < space.size(); ++i)
    delays.learn(i, seconds(space, i)), unknown.learn(i, seconds(space, i));
  const std::vector<std::uint64_t> outstanding{0, 1};
  const std::uint64_t shortest = 0, longest = space.size() - 1;
  delays.expect(1000, outstanding);
  CHECK(delays.logarithm(longest) == 0);
  delays.expect(1, outstanding);
  CHECK(delays.logarithm(shortest) == 0);
  CHECK(delays.logarithm(longest) > 5);
  // Without their number, or too few examples, nothing is said.
  unknown.expect(1, outstanding);
  CHECK(unknown.logarithm(longest) == 0);
  CompileDelays new_to_it(space, 4);
  new_to_it.learn(0, 1);
  new_to_it.expect(1, outstanding);
  CHECK(new_to_it.logarithm(longest) == 0);
}
