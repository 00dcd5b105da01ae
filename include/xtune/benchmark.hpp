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
  double min_sample_ms = 1.0;  ///< a sample is a batch of launches that takes about this long at least, milliseconds;
                               ///< ignored with cold
  double max_seconds = 10.0;   ///< no sample begins after this many seconds; at least one is always taken
  /// false: what an application gets: batches with warm caches, by the wall clock. true: what tune() measures: single
  /// launches after the caches were flushed, by the device's clock, on a stream of the library's own.
  bool cold = false;
};

namespace detail {
/// launch: queues the kernel in the stream that it gets.
Timing time_launches(const Kernel& kernel, Stream stream, const BenchmarkSettings& settings,
                     const std::function<void(Stream)>& launch);
}  // namespace detail

/// Times a kernel with these arguments. Calls it until its time is known, then waits for the stream. The result is in
/// milliseconds for one launch: the wall-clock time of a batch of launches, divided by their number. A launch that is
/// shorter than the time the driver needs to queue it therefore measures as that time. Caches are warm, other work in
/// the stream is included, and whatever the kernel writes changes with every launch.
///
/// With settings.cold, waits for the stream first, and then times single launches as tune() does, to compare the
/// configurations of a sweep; but contents are not restored between launches, and results not compared.
///
/// Throws Error: invalid_argument for settings without a sample, unavailable if the device fails or has no memory for
/// flushing its cache, and the errors of a call of the kernel.
template <class... Arguments>
Timing benchmark(const Kernel& kernel, const BenchmarkSettings& settings, Stream stream, Arguments... arguments) {
  return detail::time_launches(kernel, stream, settings, [&](Stream on) { kernel(on, arguments...); });
}
/// The same for a typed kernel.
template <class... Parameters>
Timing benchmark(const TypedKernel<void(Parameters...)>& kernel, const BenchmarkSettings& settings, Stream stream,
                 std::type_identity_t<Parameters>... arguments) {
  return detail::time_launches(kernel.untyped(), stream, settings, [&](Stream on) { kernel(on, arguments...); });
}

}  // namespace xtune
