// How much of a virtual machine's processor time other machines took.
#pragma once

#include <cstdint>
#include <istream>

namespace xtune::host {

/// Sums over all processors, in the kernel's ticks. All zero where it is not told.
struct ProcessorTimes {
  std::uint64_t total = 0, stolen = 0;
};

/// Reads the first line of /proc/stat (proc_stat(5)).
ProcessorTimes read_processor_times(std::istream& proc_stat);

/// The share of stolen time between two readings; 0 where too few ticks passed to tell.
double stolen_share(const ProcessorTimes& before, const ProcessorTimes& after) noexcept;

}  // namespace xtune::host
