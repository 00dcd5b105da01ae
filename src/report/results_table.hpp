// The table of a run: the best configurations, their times, and how they compare with the best.
#pragma once

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

}  // namespace xtune::report
