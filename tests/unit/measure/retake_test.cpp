// Late samples are taken again, but not forever.
#include <doctest/doctest.h>

#include "core/measure/device.hpp"

namespace xtune::measure {
namespace {

TEST_CASE("the first sample in time counts, of three the last") {
  int taken = 0;
  const auto late_until = [&](int number) {
    taken = 0;
    return punctual_sample([&, number] {
      Sample sample;
      sample.time_ms = ++taken;
      sample.late = taken < number;
      return sample;
    });
  };
  CHECK(late_until(1).time_ms == 1);
  CHECK(late_until(2).time_ms == 2);
  CHECK(taken == 2);
  CHECK(late_until(9).time_ms == 3);
  CHECK(late_until(9).late);
}

}  // namespace
}  // namespace xtune::measure
