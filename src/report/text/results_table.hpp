// The table of a run's results, and its columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/record/best.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// The first `rows` of the order in `width` columns. more: number of others that passed.
std::string results_table(const spec::Spec& spec, const record::Standings& standings, std::size_t rows,
                          std::size_t more, std::size_t width);

/// The default configuration, compared with the best: "41.0 us, 1.3 times the time of the best (BLOCK=64)". found: its
/// record; null: it was not tried. standings: not empty. Empty if there is nothing to say.
std::string default_sentence(const spec::Spec& spec, const record::Record* found, const record::Standings& standings);

/// "95 % interval", of the median, for any ranking statistic.
std::string interval_name(const spec::Spec& spec);

/// A metric in the usual form: a rate below 1 or from 10,000 on gets another prefix, by the maximum of its values:
/// TFLOPS 0.0026 becomes GFLOPS 2.6.
struct ShownMetric {
  std::string name;
  double factor = 1;
};
ShownMetric shown_metric(const std::string& name, double largest);

/// Four significant digits, or "-".
std::string number_text(double number);

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
