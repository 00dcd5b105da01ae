// Timing a kernel that an application calls, with the application's own arguments, context and stream.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>

#include "xtune/kernel.hpp"
#include "xtune/result.hpp"
#include "xtune/stream.hpp"

namespace xtune {

/// How long to measure.
struct BenchmarkSettings {
  std::size_t samples = 30;    ///< maximum number of samples; at least 1
  double min_sample_ms = 1.0;  ///< a sample is a batch of launches that takes about this long at least, milliseconds
  double max_seconds = 10.0;   ///< no sample begins after this many seconds; at least one is taken
};

namespace detail {
/// launch: queues the kernel in the stream.
Timing time_launches(const Kernel& kernel, Stream stream, const BenchmarkSettings& settings,
                     const std::function<void()>& launch);
}  // namespace detail

/// Calls the kernel with these arguments until its time is known, and waits for the stream. Times are milliseconds for
/// one launch: the wall clock of a batch of launches, divided by their number. So a launch that is shorter than the
/// driver takes to queue one is as long as that, caches are warm, and other work in the stream counts. What the kernel
/// writes changes with every launch. tune() measures single launches with events, cold caches and restored contents:
/// use it to compare configurations, and this to see what an application gets. Throws Error: invalid_argument for
/// settings without a sample, and as a call of the kernel.
template <class... Arguments>
Timing benchmark(const Kernel& kernel, const BenchmarkSettings& settings, Stream stream, Arguments... arguments) {
  return detail::time_launches(kernel, stream, settings, [&] { kernel(stream, arguments...); });
}
/// The same of a typed kernel.
template <class... Parameters>
Timing benchmark(const TypedKernel<void(Parameters...)>& kernel, const BenchmarkSettings& settings, Stream stream,
                 std::type_identity_t<Parameters>... arguments) {
  return detail::time_launches(kernel.untyped(), stream, settings, [&] { kernel(stream, arguments...); });
}

}  // namespace xtune
