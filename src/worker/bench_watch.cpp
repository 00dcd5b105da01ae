// The state of the device around a measurement: whether it was free, whether it throttled, and the energy of a launch.
#include <algorithm>
#include <chrono>
#include <thread>

#include "core/measure/statistics.hpp"
#include "worker/bench_session.hpp"

namespace xtune::worker {

void BenchSession::settle() {
  guard_.settle([this] { return look(); },
                [this](double seconds) {
                  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                  look_.at_ns.reset();
                });
}

// NVML takes 3 to 12 ms to answer: configurations in quick succession share a reading, so that readings take about a
// fiftieth of the time. A CPU's state is what happened since the last reading, so each series has its own two.
measure::DeviceState BenchSession::look() {
  constexpr std::int64_t fresh_ns = 100'000'000;
  const std::int64_t now_ns = clock_.now_ns();
  if (device::is_cpu(device_.info()) || !look_.at_ns ||
      now_ns - *look_.at_ns >= std::max(fresh_ns, 50 * look_.took_ns)) {
    look_.state = device_.state();
    look_.at_ns = clock_.now_ns();
    look_.took_ns = *look_.at_ns - now_ns;
  }
  return look_.state;
}

void BenchSession::watch(measure::Telemetry& telemetry, std::vector<std::string>& taints) {
  const measure::DeviceState state = look();
  taints = guard_.taints(state, telemetry.clock_mhz);
  telemetry.temperature_c = state.temperature_c.value_or(0);
  telemetry.power_w = state.power_w.value_or(0);
}

// The device's counter is updated about ten times a second, so a single launch or a short series of them is not enough.
void BenchSession::measure_energy(Sampler& sampler, ipc::BenchAnswer& answer) {
  const measure::DeviceState before = device_.state();
  if (!before.energy_j) return;
  const std::int64_t start_ns = clock_.now_ns();
  double spent_s = 0;
  // About 20 ms at a time: the host checks the clock rarely, and not much later than it should.
  const double one_ms = std::max(measure::summarize(answer.samples_ms).median, measure::min_sample_ms);
  const int batch = static_cast<int>(std::clamp(20 / one_ms, 1.0, 200.0));
  double launches = 0;
  while (spent_s * 1e3 < job_.measure.energy_ms) {
    sampler.run_on(batch);
    launches += batch;
    spent_s = static_cast<double>(clock_.now_ns() - start_ns) * 1e-9;
  }
  const double joules = device_.state().energy_j.value_or(*before.energy_j) - *before.energy_j;
  answer.telemetry.energy_j = joules / launches;
  answer.telemetry.power_w = joules / spent_s;
}

}  // namespace xtune::worker
