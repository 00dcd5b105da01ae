// The held queue, and the calibration with kernels of known length. Graphs are made by capturing a stream: the driver
// copies the arguments of every launch into the graph.
#include "backends/gpu/queue_timer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "backends/gpu/device.hpp"
#include "core/measure/statistics.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {
namespace {

// Every loop ends by the timer or by the clock, which always advance: none of these kernels can hang a device. cycle()
// counts separately for each compute unit, so the begin and end of a count are read by one thread.
constexpr const char* timer_source = R"(
#if defined(XTUNE_HIP)
__device__ unsigned long long now() { return (unsigned long long)wall_clock64(); }
#else
__device__ unsigned long long now() {
  unsigned long long ticks;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
  return ticks;
}
#endif
#if defined(__AMDGCN__)  // clock64 does not compile for gfx11 with hipRTC 5.7
__device__ unsigned long long cycle() { return __builtin_readcyclecounter(); }
#else
__device__ unsigned long long cycle() { return (unsigned long long)clock64(); }
#endif

extern "C" __global__ void xtune_hold(volatile unsigned* flags, unsigned ticket, unsigned long long ticks) {
  const unsigned long long start = now();
  while ((int)(flags[0] - ticket) < 0) {
    if (now() - start < ticks) continue;
    flags[1] = ticket;
    return;
  }
}

extern "C" __global__ void xtune_spin(unsigned long long cycles) {
  const unsigned long long start = cycle();
  while (cycle() - start < cycles) {
  }
}

// From one change of the timer to a later one: it may tick as slowly as once a microsecond.
extern "C" __global__ void xtune_clock(unsigned long long* out, unsigned long long ticks) {
  const unsigned long long before = now();
  unsigned long long start = now();
  while (start == before) start = now();
  const unsigned long long first = cycle();
  unsigned long long end = now();
  while (end - start < ticks) end = now();
  const unsigned long long last = cycle();
  out[0] = last - first;
  out[1] = end - start;
}
)";

constexpr double deadline_s = 0.02;       // for a held queue: queueing takes well below a millisecond
constexpr int late_limit = 3;             // in a row; after that the queue is no longer held
constexpr double clock_window_s = 10e-6;  // long compared with the resolution of a 1 MHz timer and its reading
// The shorter one is short so that the extrapolation to zero does not enlarge its error.
constexpr double short_spin_ms = 0.001, long_spin_ms = 0.02;
constexpr int calibration_batch = 16, calibration_rounds = 96;

const device::Launch one_thread = {{1, 1, 1}, {1, 1, 1}};

}  // namespace

build::CompileRequest timing_request(const std::string& arch) {
  return build::own_request("timing_kernels.cu", timer_source, timing_kernel::hold, arch);
}

LaunchGraph::LaunchGraph(Session& session, const std::function<void()>& work) : session_(session) {
  const DriverApi& api = session.api();
  session.check_launch(api.begin_capture(session.stream()), "beginning a graph");
  try {
    work();
  } catch (...) {
    // The stream would stay in capture mode, and refuse everything else.
    if (Graph partial = nullptr; api.end_capture(&partial, session.stream()) == 0) api.destroy_graph(partial);
    throw;
  }
  session.check_launch(api.end_capture(&handle_, session.stream()), "making a graph of the launches");
}

LaunchGraph::~LaunchGraph() {
  try {
    if (handle_) session_.api().destroy_graph(handle_);
  } catch (...) {  // a destructor never throws
  }
}

void LaunchGraph::launch() {
  session_.check_launch(session_.api().launch_graph(handle_, session_.stream()), "launching a graph");
}

/// The waiting kernel in the stream; released at the latest at the end of this object's scope.
class QueueTimer::Hold {
 public:
  Hold(QueueTimer& timer, bool wanted) : timer_(timer), held_(wanted) {
    if (!held_) return;
    const std::uint32_t ticket = ++timer_.ticket_;
    void* flags = timer_.shared_on_device_;
    auto ticks = static_cast<std::uint64_t>(deadline_s * timer_.session_.api().timer_hz);
    void* parameters[] = {&flags, const_cast<std::uint32_t*>(&ticket), &ticks};
    timer_.launch(timer_.hold_, parameters);
  }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void release() noexcept {
    if (held_) timer_.shared_->released = timer_.ticket_;
  }

 private:
  QueueTimer& timer_;
  bool held_;
};

QueueTimer::QueueTimer(Session& session) : session_(session) {
  try {
    load();
    wake();
    calibrate();
  } catch (const build::CandidateFailure& failure) {
    release();
    if (failure.outcome() == Outcome::crashed) throw;
    info_ = {};
    info_.note = failure.what();
  } catch (const Error& error) {
    release();
    info_ = {};
    info_.note = error.what();
  }
}

QueueTimer::~QueueTimer() { release(); }

void QueueTimer::release() noexcept {
  try {
    graph_costs_.reset();
    if (shared_) session_.api().free_mapped(const_cast<Shared*>(shared_));
    if (module_) session_.api().unload_module(module_);
  } catch (...) {  // the device may be lost, and its process about to end
  }
  shared_ = nullptr;
  module_ = nullptr;
  clock_ = nullptr;
}

void QueueTimer::load() {
  const DriverApi& api = session_.api();
  if (!api.no_timing.empty()) throw Error(ErrorKind::unsupported, api.no_timing);
  if (!api.timing_code || !api.allocate_mapped)
    throw Error(ErrorKind::unsupported, "this driver has no host memory that the device can read");
  const build::Artifact code = api.timing_code();
  session_.check_launch(api.load_module(&module_, code.image), "loading the timing kernels");
  session_.check_launch(api.find_function(&hold_, module_, timing_kernel::hold), "finding a timing kernel");
  session_.check_launch(api.find_function(&spin_, module_, timing_kernel::spin), "finding a timing kernel");
  session_.check_launch(api.find_function(&clock_, module_, timing_kernel::clock), "finding a timing kernel");
  void* host = nullptr;
  session_.check_launch(api.allocate_mapped(&host, &shared_on_device_, sizeof(Shared)), "mapping host memory");
  shared_ = static_cast<Shared*>(host);
}

/// Launches every kernel once before any of them is held: a driver that loads code lazily waits for the device to do
/// so. Then keeps the device busy until its clock is stable.
void QueueTimer::wake() {
  info_.holds_queue = true;
  shared_->released = ticket_ + 1;
  { Hold free_pass(*this, true); }
  spin(short_spin_ms);
  double last = 0;
  for (int round = 0; round < 20; ++round) {
    const double mhz = span(0, false, [this] { spin(5.0); }).clock_mhz;
    if (round > 0 && std::abs(mhz - last) < 0.002 * mhz) break;
    last = mhz;
  }
}

void QueueTimer::calibrate() {
  std::vector<double> empty;
  for (int i = 0; i < calibration_rounds; ++i) empty.push_back(span(0, true, [] {}).ms);
  info_.empty_pair_ms = measure::summarize(empty).median;
  calibrate(costs_);
  info_.overhead = costs_.overhead;
}

void QueueTimer::calibrate(Costs& costs) {
  costs.overhead = measure::measure_overhead([&](double ms, int launches) { return spin_span(ms, launches, 0, costs); },
                                             short_spin_ms, long_spin_ms, calibration_batch, calibration_rounds);
}

/// The driver allocates memory and may load its fill kernel, neither of which may happen behind a held queue.
void QueueTimer::prepare_flush(std::size_t bytes, Costs& costs) {
  if (!clock_ || bytes <= costs.flush_ready) return;
  session_.flush(bytes);
  session_.check(session_.api().synchronize_stream(session_.stream()), "flushing the L2 cache");
  costs.flush_ready = bytes;
  costs.flushed_event_ms =
      measure::measure_event_overhead([&](double ms, int launches) { return spin_span(ms, launches, bytes, costs); },
                                      short_spin_ms, long_spin_ms, costs.overhead.launch_ms, calibration_rounds);
}

measure::Sample QueueTimer::time(std::size_t flush_bytes, int launches, bool hold, const std::function<void()>& work) {
  return time(flush_bytes, launches, hold, work, costs_);
}

measure::Sample QueueTimer::time(std::size_t flush_bytes, int launches, LaunchGraph& graph) {
  if (!graph_costs_) {
    Costs costs;
    costs.as_graph = true;
    if (clock_) calibrate(costs);
    graph_costs_ = std::move(costs);  // not if the driver refused
  }
  // If the driver waits for the device at a first launch, the sample is late, and taken again.
  return time(
      flush_bytes, launches, true, [&] { graph.launch(); }, *graph_costs_);
}

measure::Sample QueueTimer::time(std::size_t flush_bytes, int launches, bool hold, const std::function<void()>& work,
                                 Costs& costs) {
  if (flush_bytes > 0) prepare_flush(flush_bytes, costs);
  const Span taken = span(flush_bytes, hold, work);
  measure::TimerOverhead overhead = costs.overhead;
  if (flush_bytes > 0) overhead.event_ms = costs.flushed_event_ms;
  measure::Sample sample;
  sample.time_ms = clock_ ? measure::kernel_ms(taken.ms, launches, overhead) : taken.ms / launches;
  sample.overhead_ms = overhead.of(launches) / launches;
  sample.clock_mhz = taken.clock_mhz;
  sample.late = taken.late;
  return sample;
}

QueueTimer::Span QueueTimer::span(std::size_t flush_bytes, bool hold, const std::function<void()>& work) {
  const DriverApi& api = session_.api();
  const Stream stream = session_.stream();
  const bool held = hold && info_.holds_queue;
  {
    Hold queue(*this, held);
    // The flush is queued after the waiting kernel: the device continues from the flush to the kernel without a pause.
    if (flush_bytes > 0) session_.flush(flush_bytes);
    session_.check(api.record_event(session_.start(), stream), "recording an event");
    work();
    session_.check(api.record_event(session_.stop(), stream), "recording an event");
    if (clock_) {
      void* out = static_cast<std::byte*>(shared_on_device_) + offsetof(Shared, cycles);
      auto ticks = static_cast<std::uint64_t>(clock_window_s * api.timer_hz);
      void* parameters[] = {&out, &ticks};
      launch(clock_, parameters);
    }
  }
  session_.check(api.synchronize_event(session_.stop()), "running the kernel");
  Span taken;
  float ms = 0;
  session_.check(api.elapsed_ms(&ms, session_.start(), session_.stop()), "reading the kernel's time");
  taken.ms = ms;
  if (!clock_) return taken;
  session_.check(api.synchronize_stream(stream), "reading the clock");
  taken.clock_mhz = clock_mhz();
  taken.late = held && shared_->gave_up == ticket_;
  if (held) late_in_a_row_ = taken.late ? late_in_a_row_ + 1 : 0;
  if (late_in_a_row_ == late_limit) {
    info_.holds_queue = false;
    info_.note = "this driver waits for the device when something is queued, so times may hold launch latency";
  }
  return taken;
}

double QueueTimer::clock_mhz() const noexcept {
  const auto ticks = static_cast<double>(shared_->ticks);
  return ticks > 0 ? static_cast<double>(shared_->cycles) / (ticks / session_.api().timer_hz) * 1e-6 : 0;
}

void QueueTimer::launch(Function function, void** parameters) const {
  session_.check_launch(session_.api().launch(function, one_thread, session_.stream(), parameters),
                        "launching a timing kernel");
}

/// Takes about that long: a fixed number of cycles, at the clock that the driver reports.
void QueueTimer::spin(double ms) const {
  const auto khz = static_cast<double>(session_.info().clock_khz > 0 ? session_.info().clock_khz : 1'500'000);
  auto cycles = static_cast<std::uint64_t>(ms * khz);
  void* parameters[] = {&cycles};
  launch(spin_, parameters);
}

double QueueTimer::spin_span(double ms, int launches, std::size_t flush_bytes, Costs& costs) {
  const auto spins = [&] {
    for (int i = 0; i < launches; ++i) spin(ms);
  };
  if (!costs.as_graph) return span(flush_bytes, true, spins).ms;
  std::unique_ptr<LaunchGraph>& graph = costs.spins[{ms, launches}];
  if (!graph) {
    graph = std::make_unique<LaunchGraph>(session_, spins);
    span(0, false, [&] { graph->launch(); });
  }
  return span(flush_bytes, true, [&] { graph->launch(); }).ms;
}

}  // namespace xtune::gpu
