// What other programs and other virtual machines take of the CPUs that kernels run on.
#pragma once

#include <chrono>
#include <cstdint>
#include <istream>

#include "core/measure/device.hpp"
#include "system/deadline.hpp"

namespace xtune::host {

/// Sums over all processors, in the kernel's ticks. All zero if they are not reported.
struct ProcessorTimes {
  std::uint64_t total = 0, stolen = 0, idle = 0;
};

/// Reads the first line of /proc/stat (proc_stat(5)).
ProcessorTimes read_processor_times(std::istream& proc_stat);

/// The share of stolen time between two readings; 0 if too few ticks have passed.
double stolen_share(const ProcessorTimes& before, const ProcessorTimes& after) noexcept;

/// The share of all processors' time between two readings that other processes had, of which this one and those that it
/// started ran for run_ticks; 0 if too few ticks have passed.
double others_share(const ProcessorTimes& before, const ProcessorTimes& after, double run_ticks) noexcept;

/// Watches this process, whose threads run the kernels.
class CpuContention {
 public:
  /// Fills in what was taken since the last call. What XTUNE_BUSY says takes precedence over what is found.
  void report(measure::DeviceState& state);

 private:
  ProcessorTimes processors_;
  system::CpuTimes threads_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

}  // namespace xtune::host
