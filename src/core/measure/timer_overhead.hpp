// The overhead in a timed span, computed from spans around kernels of two lengths. Pure.
#pragma once

#include <cstddef>
#include <functional>

namespace xtune::measure {

/// All in milliseconds. A span around n launches takes event_ms + n * (launch_ms + the kernel's own time).
struct TimerOverhead {
  double event_ms = 0;   ///< per span: the events themselves
  double launch_ms = 0;  ///< per launch: starting and draining a kernel

  double of(int launches) const noexcept { return event_ms + launches * launch_ms; }
};

/// Lower bound of samples: a shorter kernel cannot be distinguished from an empty one.
inline constexpr double min_sample_ms = 5e-5;

/// Of one launch: (span_ms - overhead.of(launches)) / launches, at least min_sample_ms.
double kernel_ms(double span_ms, int launches, const TimerOverhead& overhead) noexcept;

/// Measures a span around `launches` kernels of `length` (in any unit, such as clock cycles).
using SpinSpan = std::function<double(double length, int launches)>;

/// Measures spans around one and around `batch` kernels of two lengths in turn, `rounds` times each. The line through
/// the middles of the two lengths gives the overhead at length 0. The unit of the lengths cancels out, so the device's
/// clock need not be known; it may not change meanwhile. Exceptions of span_ms pass through.
TimerOverhead measure_overhead(const SpinSpan& span_ms, double shorter, double longer, int batch, int rounds);

/// The same for spans around one kernel with known launch_ms: work before the first event (a cache flush) changes
/// event_ms.
double measure_event_overhead(const SpinSpan& span_ms, double shorter, double longer, double launch_ms, int rounds);

/// The number of launches of a kernel of this length between one pair of events, so that the span is long compared with
/// the timer's resolution: about 150 us together, or one launch that takes at least that long; up to 200, since a queue
/// that is held back must hold them all (drivers' queues hold about a thousand).
int launches_per_span(double kernel_ms) noexcept;

}  // namespace xtune::measure
