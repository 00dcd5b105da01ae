// Facts about a series of samples besides their times.
#pragma once

namespace xtune::measure {

/// 0 means unknown for every member. Power, energy and temperature are those of the whole device.
struct Telemetry {
  double clock_mhz = 0;      ///< of the compute units: the median of readings right after each sample
  double temperature_c = 0;  ///< at the end of the series
  double power_w = 0;        ///< during repeated runs of the kernel if energy_j is known, else at the end of the series
  double energy_j = 0;       ///< of one launch; measured on demand ([measure] energy_ms)
  double overhead_ms = 0;    ///< timer overhead that was subtracted from each launch
  int launches = 1;          ///< in each sample, which is their mean
};

}  // namespace xtune::measure
