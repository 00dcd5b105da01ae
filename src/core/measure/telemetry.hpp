// What is known of a series of samples beside their times.
#pragma once

namespace xtune::measure {

/// 0 = not known, everywhere. Power, energy and temperature are the whole device's.
struct Telemetry {
  double clock_mhz = 0;      ///< of the compute units: the median of what was read right after each sample
  double temperature_c = 0;  ///< at the end of the series
  double power_w = 0;        ///< while the kernel runs again and again where energy_j is known, else at the series' end
  double energy_j = 0;       ///< of one launch; measured on demand ([measure] energy_ms)
  double overhead_ms = 0;    ///< what the timer took off each launch
  int launches = 1;          ///< behind each sample, which is their mean
};

}  // namespace xtune::measure
