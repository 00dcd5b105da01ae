// Splits kbench's column titles.
#include "core/record/kbench_metric.hpp"

#include <cctype>

namespace xtune::record {

KbenchMetric kbench_metric(const std::string& column) {
  const std::size_t open = column.rfind(" (");
  const bool has_unit = open != std::string::npos && column.ends_with(')');
  KbenchMetric metric{column.substr(0, has_unit ? open : column.size()),
                      has_unit ? column.substr(open + 2, column.size() - open - 3) : ""};
  for (char& c : metric.name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (metric.name.empty() || std::isdigit(static_cast<unsigned char>(metric.name[0]))) metric.name = "_" + metric.name;
  return metric;
}

std::string kbench_column(const std::string& metric) {
  for (const char* column :
       {"throughput (GElems/s)", "DataMovement (GB/s)", "Arithmetic (GFLOPS/s)", "TheoreticalArithmetic (GFLOPS/s)"})
    if (kbench_metric(column).name == metric) return column;
  return metric;
}

}  // namespace xtune::record
