// Reads /proc and computes differences.
#include "backends/host/cpu_contention.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "system/machine.hpp"

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
  times.idle = ticks[3] + ticks[4];
  return times;
}

double others_share(const ProcessorTimes& before, const ProcessorTimes& after, double run_ticks) noexcept {
  constexpr std::uint64_t few_ticks = 8;
  if (before.total == 0 || after.total < before.total + few_ticks) return 0;
  const auto ticks = static_cast<double>(after.total - before.total);
  const double unused = static_cast<double>(after.idle - std::min(before.idle, after.idle)) +
                        static_cast<double>(after.stolen - std::min(before.stolen, after.stolen));
  return std::max(0.0, (ticks - unused - run_ticks) / ticks);
}

double stolen_share(const ProcessorTimes& before, const ProcessorTimes& after) noexcept {
  constexpr std::uint64_t min_ticks = 20;  // a single tick is then less than a tenth
  if (after.total < before.total + min_ticks || after.stolen < before.stolen) return 0;
  return static_cast<double>(after.stolen - before.stolen) / static_cast<double>(after.total - before.total);
}

void CpuContention::report(measure::DeviceState& state) {
  if (const auto said = system::said_busy()) {
    state.said_busy = *said;
    return;
  }
  std::ifstream file("/proc/stat");
  const ProcessorTimes processors = read_processor_times(file);
  const ProcessorTimes processors_before = std::exchange(processors_, processors);
  state.stolen_share = stolen_share(processors_before, processors);
  const system::CpuTimes before = std::exchange(threads_, system::cpu_times(::getpid()));
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::nano> passed = now - std::exchange(looked_, now);
  if (before.empty()) return;
  // Threads of this process wait for each other where it has more of them than CPUs for a while.
  const double tick_ns = 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
  state.lost_share = std::min(others_share(processors_before, processors, system::run_ns(before, threads_) / tick_ns),
                              system::lost_share(before, threads_, passed.count(), system::usable_cpus(::getpid())));
}

}  // namespace xtune::host
