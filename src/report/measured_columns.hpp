// The columns about measurements that tables of configurations have in common, on a terminal and in the HTML report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/results_table.hpp"

namespace xtune::report {

/// Time, its multiple of the best one's with the interval of that (of the time itself if the objective is another
/// value), and noise; and where one of the records has them, the speed-up over the reference, outliers, and
/// whether launches gave the same bits.
class MeasuredColumns {
 public:
  /// records: those of the table, of these standings. spec and standings must outlive this object.
  MeasuredColumns(const spec::Spec& spec, const std::vector<const record::Record*>& records,
                  const record::Standings& standings);
  std::vector<std::string> header() const;
  /// The cells of a record that passed; "-": unknown.
  std::vector<std::string> cells(const record::Record& record) const;

 private:
  struct Column {
    std::string title;
    std::function<std::string(const record::Record&)> cell;
  };
  std::vector<Column> columns_;
};

}  // namespace xtune::report
