// Timing calls of a kernel in the application's own stream.
#include "xtune/benchmark.hpp"

#include <doctest/doctest.h>

#include "unit/api/tune_fixture.hpp"

namespace xtune {
namespace {

using namespace api_test;

template <class... Arguments>
concept Benchmarked = requires(const Kernel& kernel, const BenchmarkSettings& settings, Arguments... arguments) {
  benchmark(kernel, settings, arguments...);
};
static_assert(Benchmarked<std::nullptr_t, const float*, float*, float, int>);
static_assert(!Benchmarked<const float*, float*, float, int>, "the stream is forgotten");

CompiledConfig compiled() {
  CompileSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  return compile_all(saxpy(100), {config(32, 1)}, settings).at(0);
}

TEST_CASE("a kernel is called until its time is known") {
  const Kernel kernel = compiled().kernel();
  const std::vector<float> x(100, 1.0f);
  std::vector<float> y(100, 0.0f);
  BenchmarkSettings settings;
  settings.samples = 5;
  settings.min_sample_ms = 0.2;
  const Timing timing = benchmark(kernel, settings, nullptr, x.data(), y.data(), 1.0f, 100);
  CHECK(timing.samples == 5);
  CHECK(timing.min_ms > 0);
  CHECK(timing.min_ms <= timing.median_ms);
  CHECK(timing.median_ms <= timing.max_ms);
  CHECK(y[99] >= 6.0f);  // a launch before the samples, and at least one for each

  const TypedKernel<void(const float*, float*, float, int)> typed(kernel);
  settings.samples = 1;
  CHECK(benchmark(typed, settings, nullptr, x.data(), y.data(), 1, 100).samples == 1);
}

TEST_CASE("the time is limited, and one sample is taken in any case") {
  const Kernel kernel = compiled().kernel();
  const std::vector<float> x(100, 1.0f);
  std::vector<float> y(100);
  BenchmarkSettings settings;
  settings.max_seconds = 0;
  CHECK(benchmark(kernel, settings, nullptr, x.data(), y.data(), 1.0f, 100).samples == 1);
}

TEST_CASE("with cold caches single launches are timed, whose results stay") {
  const Kernel kernel = compiled().kernel();
  const std::vector<float> x(100, 1.0f);
  std::vector<float> y(100, 0.0f);
  BenchmarkSettings settings;
  settings.samples = 4;
  settings.cold = true;
  const Timing timing = benchmark(kernel, settings, nullptr, x.data(), y.data(), 1.0f, 100);
  CHECK(timing.samples == 4);
  CHECK(timing.min_ms > 0);
  CHECK(timing.low_ms <= timing.median_ms);
  CHECK(y[99] == 6.0f);  // with two launches before the samples
  settings.max_seconds = 0;
  CHECK(benchmark(kernel, settings, nullptr, x.data(), y.data(), 1.0f, 100).samples == 1);
}

TEST_CASE("a benchmark without samples and a wrong call are refused") {
  const Kernel kernel = compiled().kernel();
  const std::vector<float> x(100, 1.0f);
  std::vector<float> y(100);
  const auto run = [&](const BenchmarkSettings& settings, int n) {
    return refused(ErrorKind::invalid_argument,
                   [&] { benchmark(kernel, settings, nullptr, x.data(), y.data(), 1.0f, n); });
  };
  CHECK(has(run({.samples = 0}, 100), "samples is 0"));
  CHECK(has(run({.min_sample_ms = -1}, 100), "min_sample_ms is -1"));
  CHECK(has(run({}, 99), "N=99"));
}

}  // namespace
}  // namespace xtune
