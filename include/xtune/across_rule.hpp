// How one configuration is chosen for several problems.
#pragma once

namespace xtune {

/// How the one configuration for all cases is chosen: by its time in each case, divided by the best time of that case.
enum class AcrossRule {
  geomean,  ///< the minimum of the ratios' geometric mean
  worst     ///< the minimum of the largest ratio
};
const char* to_string(AcrossRule rule) noexcept;  ///< as the spec writes it: "geomean", "worst"

}  // namespace xtune
