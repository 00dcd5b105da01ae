// Share of a virtual machine's processor time that other machines took.
#pragma once

#include <cstdint>
#include <istream>

namespace xtune::host {

/// Sums over all processors, in the kernel's ticks. All zero if they are not reported.
struct ProcessorTimes {
  std::uint64_t total = 0, stolen = 0;
};

/// Reads the first line of /proc/stat (proc_stat(5)).
ProcessorTimes read_processor_times(std::istream& proc_stat);

/// The share of stolen time between two readings; 0 if too few ticks have passed.
double stolen_share(const ProcessorTimes& before, const ProcessorTimes& after) noexcept;

}  // namespace xtune::host
