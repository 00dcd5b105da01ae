// The timer's overhead: recovered from spans that contain it, for any unit, drift or noise.
#include "core/measure/timer_overhead.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "base/random.hpp"

using namespace xtune::base;
using namespace xtune::measure;

using namespace xtune;

TEST_CASE("The overhead of events and of launches is told apart, in whatever unit the lengths are") {
  for (const double unit_ms : {1.0, 5e-7}) {  // milliseconds, and cycles at 2 GHz
    const auto span = [=](double length, int n) { return 0.0021 + n * (0.0009 + length * unit_ms); };
    const TimerOverhead overhead = measure_overhead(span, 0.008 / unit_ms, 0.024 / unit_ms, 16, 5);
    CHECK(overhead.event_ms == doctest::Approx(0.0021));
    CHECK(overhead.launch_ms == doctest::Approx(0.0009));
    CHECK(kernel_ms(span(0.005 / unit_ms, 1), 1, overhead) == doctest::Approx(0.005));
    CHECK(kernel_ms(span(0.005 / unit_ms, 30), 30, overhead) == doctest::Approx(0.005));
    const auto flushed = [=](double length, int n) { return span(length, n) + 0.0004; };
    CHECK(measure_event_overhead(flushed, 0.008 / unit_ms, 0.024 / unit_ms, overhead.launch_ms, 5) ==
          doctest::Approx(0.0025));
  }
}

TEST_CASE("Outliers and a clock that drifts leave the overhead as it is") {
  Random random(7);
  int calls = 0;
  const auto span = [&](double length, int n) {
    ++calls;
    const double hiccup = random.uniform() < 0.2 ? 0.5 : 0;
    return 0.002 + n * (0.001 + length * (1 + 1e-5 * calls)) + hiccup;
  };
  const TimerOverhead overhead = measure_overhead(span, 0.008, 0.024, 16, 31);
  CHECK(overhead.event_ms == doctest::Approx(0.002).epsilon(0.1));
  CHECK(overhead.launch_ms == doctest::Approx(0.001).epsilon(0.1));
}

TEST_CASE("A timer with coarse steps does not make the overhead coarse") {
  Random random(3);
  const auto span = [&](double length, int n) {
    const double step = 0.0005, start = random.uniform() * step;
    const double end = start + 0.0021 + n * (0.0009 + length);
    return std::floor(end / step) * step - std::floor(start / step) * step;
  };
  const TimerOverhead overhead = measure_overhead(span, 0.001, 0.02, 16, 200);
  CHECK(overhead.of(1) == doctest::Approx(0.003).epsilon(0.02));
}

TEST_CASE("An overhead is never negative, and a failing span passes through") {
  const TimerOverhead none = measure_overhead([](double length, int n) { return n * length - 0.001; }, 1, 2, 4, 3);
  CHECK(none.event_ms == 0);
  CHECK(none.launch_ms == 0);
  const auto fails = [](double, int) -> double { throw std::runtime_error("gone"); };
  CHECK_THROWS_AS(measure_overhead(fails, 1, 2, 4, 3), std::runtime_error);
}

TEST_CASE("A kernel no longer than an empty one has the least time that is told, not none") {
  const TimerOverhead overhead{0.002, 0.001};
  CHECK(kernel_ms(0.003, 1, overhead) == min_sample_ms);
  CHECK(kernel_ms(0.0001, 1, overhead) == min_sample_ms);
  CHECK(overhead.of(3) == doctest::Approx(0.005));
}

TEST_CASE("Short kernels share a span, long ones have their own") {
  CHECK(launches_per_span(0.15) == 1);
  CHECK(launches_per_span(5) == 1);
  CHECK(launches_per_span(0.149) == 2);
  CHECK(launches_per_span(0.02) == 8);
  CHECK(launches_per_span(0.002) == 75);
  CHECK(launches_per_span(1e-6) == 200);
  CHECK(launches_per_span(0) == 1);
}
