// Reads /proc and computes differences.
#include "backends/host/cpu_contention.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "base/machine_state.hpp"

namespace xtune::host {

ProcessorTimes read_processor_times(std::istream& proc_stat) {
  // user nice system idle iowait irq softirq steal; the following numbers are part of user and nice.
  std::string name;
  std::array<std::uint64_t, 8> ticks{};
  if (!(proc_stat >> name) || name != "cpu") return {};
  ProcessorTimes times;
  for (std::uint64_t& value : ticks) {
    if (!(proc_stat >> value)) return {};
    times.total += value;
  }
  times.stolen = ticks.back();
  return times;
}

double stolen_share(const ProcessorTimes& before, const ProcessorTimes& after) noexcept {
  constexpr std::uint64_t min_ticks = 20;  // a single tick is then less than a tenth
  if (after.total < before.total + min_ticks || after.stolen < before.stolen) return 0;
  return static_cast<double>(after.stolen - before.stolen) / static_cast<double>(after.total - before.total);
}

void CpuContention::report(measure::DeviceState& state) {
  if (const auto said = base::said_busy()) {
    state.said_busy = *said;
    return;
  }
  std::ifstream file("/proc/stat");
  const ProcessorTimes processors = read_processor_times(file);
  state.stolen_share = stolen_share(std::exchange(processors_, processors), processors);
  const base::CpuTimes before = std::exchange(threads_, base::cpu_times(::getpid()));
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::nano> passed = now - std::exchange(looked_, now);
  if (!before.empty())
    state.lost_share = base::lost_share(before, threads_, passed.count(), base::usable_cpus(::getpid()));
}

}  // namespace xtune::host
