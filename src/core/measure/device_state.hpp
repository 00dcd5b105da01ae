// The state of a device according to its monitor, at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xtune::measure {

/// Unset or empty members are not reported.
struct DeviceState {
  std::optional<double> max_clock_mhz;  ///< of the compute units
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> energy_j;                   ///< used since some moment in the past
  std::optional<std::uint64_t> uncorrected_errors;  ///< of its memory, since some moment in the past
  std::vector<std::string> throttling;              ///< reasons why it is slowed down now: "it is too hot"
  std::vector<int> processes;                       ///< ids of processes that compute on it, in an unknown namespace
  std::string partition;                            ///< how it is partitioned: "MIG"
  /// For a virtual machine: share of processor time that other machines took since the last state.
  std::optional<double> stolen_share;
  /// For kernels on the CPU, since the last state: share of their threads' time that they waited for CPUs.
  std::optional<double> lost_share;
  bool said_busy = false;  ///< the user says that other programs use the CPUs
};

}  // namespace xtune::measure
