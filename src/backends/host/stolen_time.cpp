// Reads /proc/stat and computes differences.
#include "backends/host/stolen_time.hpp"

#include <array>
#include <string>

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

}  // namespace xtune::host
