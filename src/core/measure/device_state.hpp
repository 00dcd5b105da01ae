// What a device's monitor tells of one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xtune::measure {

/// Unset, or empty: it does not tell.
struct DeviceState {
  std::optional<double> max_clock_mhz;  ///< of the compute units
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> energy_j;                   ///< used up since some moment in the past
  std::optional<std::uint64_t> uncorrected_errors;  ///< of its memory, since some moment in the past
  std::vector<std::string> throttling;              ///< why it is slowed down now: "it is too hot"
  std::vector<int> processes;                       ///< that compute on it; whose namespace the ids are of, is not said
  std::string partition;                            ///< how it is divided up: "MIG"
  /// Of a virtual machine's processors, since the state before: time that other machines took.
  std::optional<double> stolen_share;
};

}  // namespace xtune::measure
