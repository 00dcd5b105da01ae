// What a timed span holds beside its kernels, from spans around kernels of two lengths. Pure.
#pragma once

#include <cstddef>
#include <functional>

namespace xtune::measure {

/// All in milliseconds. A span around n launches lasts event_ms + n * (launch_ms + the kernel's own time).
struct TimerOverhead {
  double event_ms = 0;   ///< once a span: the events themselves
  double launch_ms = 0;  ///< each launch: starting and draining a kernel

  double of(int launches) const noexcept { return event_ms + launches * launch_ms; }
};

/// No sample is shorter: a kernel that lasts less cannot be told from an empty one.
inline constexpr double min_sample_ms = 5e-5;

/// Of one launch: (span_ms - overhead.of(launches)) / launches, at least min_sample_ms.
double kernel_ms(double span_ms, int launches, const TimerOverhead& overhead) noexcept;

/// How long a span around `launches` kernels of `length` (in whatever unit, say clock cycles) takes.
using SpinSpan = std::function<double(double length, int launches)>;

/// Takes spans around one and around `batch` kernels of two lengths in turn, `rounds` times each; the line through the
/// middles of the two lengths meets length 0 at what is not the kernels. The unit of the lengths drops out, so the
/// device's clock need not be known; it may not change meanwhile. Exceptions of span_ms pass through.
TimerOverhead measure_overhead(const SpinSpan& span_ms, double shorter, double longer, int batch, int rounds);

/// The same for spans around one kernel, where launch_ms is known: what comes ahead of the first event (a cache flush)
/// changes event_ms.
double measure_event_overhead(const SpinSpan& span_ms, double shorter, double longer, double launch_ms, int rounds);

/// How many launches of a kernel of this length go between one pair of events, so that the span is long against the
/// timer's steps: about 150 us together, one where it lasts that long itself; never more than 200, since a queue that
/// is held back must take them all (drivers' queues hold about a thousand).
int launches_per_span(double kernel_ms) noexcept;

}  // namespace xtune::measure
