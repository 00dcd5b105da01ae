// Batches of launches between two reads of the clock. The number of launches in a batch follows from the batches before
// it: it doubles until a batch takes as long as was asked for, so that reading the clock and waiting for the stream,
// some microseconds, are a small part of it.
#include "xtune/benchmark.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "api/results.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/clock.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::detail {
namespace {

constexpr std::size_t max_launches = std::size_t{1} << 20;

void check(const BenchmarkSettings& settings) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::invalid_argument, "benchmark: " + what); };
  if (settings.samples == 0) refuse("samples is 0; at least one is needed");
  if (!(settings.min_sample_ms >= 0 && settings.min_sample_ms <= 1e6))
    refuse(fmt::format("min_sample_ms is {}; expected 0 to 1e6", settings.min_sample_ms));
  if (!(settings.max_seconds >= 0 && settings.max_seconds <= 1e9))
    refuse(fmt::format("max_seconds is {}; expected 0 to 1e9", settings.max_seconds));
}

void wait_for(backend::Runtime& runtime, Stream stream) { runtime.read(nullptr, nullptr, 0, stream.handle()); }

std::vector<double> cold_samples(backend::Runtime& runtime, Stream stream, const BenchmarkSettings& settings,
                                 const std::function<void(Stream)>& launch) {
  launch(stream);             // the first call prepares the kernel
  wait_for(runtime, stream);  // what it computes may be an input
  const std::unique_ptr<backend::LaunchTimer> timer = runtime.make_timer();
  const auto sample = [&] {
    // Both vendors' streams are pointers that only pass through.
    return timer->time_ms([&](void* own) { launch(Stream(static_cast<CUstream_st*>(own))); });
  };
  system::Clock& clock = system::system_clock();
  const std::int64_t begin = clock.now_ns();
  std::vector<double> samples_ms;
  sample();  // the first one in a stream may wait for the device
  do {
    samples_ms.push_back(sample());
  } while (samples_ms.size() < settings.samples &&
           static_cast<double>(clock.now_ns() - begin) / 1e9 < settings.max_seconds);
  return samples_ms;
}

}  // namespace

Timing time_launches(const Kernel& kernel, Stream stream, const BenchmarkSettings& settings,
                     const std::function<void(Stream)>& launch) {
  check(settings);
  backend::Runtime& runtime = Access::state(kernel).runtime();
  if (settings.cold) {
    try {
      return timing_of(measure::summarize(cold_samples(runtime, stream, settings, launch)));
    } catch (const build::CandidateFailure& failure) {
      throw Error(ErrorKind::unavailable, kernel.name() + ": " + failure.what());
    }
  }
  system::Clock& clock = system::system_clock();
  const auto batch_ms = [&](std::size_t launches) {
    const std::int64_t start = clock.now_ns();
    for (std::size_t i = 0; i < launches; ++i) launch(stream);
    wait_for(runtime, stream);
    return static_cast<double>(clock.now_ns() - start) / 1e6;
  };
  const std::int64_t begin = clock.now_ns();
  const auto is_over = [&] { return static_cast<double>(clock.now_ns() - begin) / 1e9 >= settings.max_seconds; };
  batch_ms(1);  // the first call prepares the kernel
  std::size_t launches = 1;
  double last_ms = batch_ms(launches);
  while (last_ms < settings.min_sample_ms && launches < max_launches && !is_over()) {
    launches *= 2;
    last_ms = batch_ms(launches);
  }
  std::vector<double> samples_ms{last_ms / static_cast<double>(launches)};
  while (samples_ms.size() < settings.samples && !is_over())
    samples_ms.push_back(batch_ms(launches) / static_cast<double>(launches));
  return timing_of(measure::summarize(samples_ms));
}

}  // namespace xtune::detail
