// The columns of kbench's tables that are metrics, and their names in specs and records.
#pragma once

#include <string>

namespace xtune::record {

struct KbenchMetric {
  std::string name;  ///< an identifier: "DataMovement"
  std::string unit;  ///< "GB/s"; may be empty
};

/// The metric for a column such as "DataMovement (GB/s)".
KbenchMetric kbench_metric(const std::string& column);
/// The column that kbench's tables have for a metric of this name; the name itself if kbench does not know it.
std::string kbench_column(const std::string& metric);

}  // namespace xtune::record
