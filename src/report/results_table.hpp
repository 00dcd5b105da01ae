// The table of a run: the best configurations, their times, and how they compare with the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/best.hpp"
#include "core/record/criterion.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// Compares records with the best of a run: by the rounds of the finals that both ran, else by the measurements of the
/// search.
class Comparison {
 public:
  /// searched: the measurements of the search, of which the best's first one counts. All must outlive this object.
  Comparison(const std::vector<record::Record>& searched, const record::Best& best, const record::Criterion& criterion);
  /// Time as a multiple of the best's; nullopt: they cannot be compared.
  std::optional<double> ratio(const record::Record& record) const;
  /// "1.000", "1.002 tie", "-".
  std::string text(const record::Record& record) const;
  /// Whether both took part in the same finals.
  bool met(const record::Record& record) const;

 private:
  const record::Best& best_;
  const record::Criterion& criterion_;
  const record::Record* searched_;  ///< the search's measurement of the best; null: none
};

/// The first `rows` of the ranked records, those of the finals in the order of their ratios, in `width` columns. more:
/// number of others that passed.
std::string results_table(const spec::Spec& spec, std::vector<const record::Record*> order, std::size_t rows,
                          const std::optional<Comparison>& comparison, std::size_t more, std::size_t width);

/// The default configuration, compared with the best: "BLOCK=64, 41.0 us: 1.3 times the time of the best". found: its
/// record; null: it was not tried. Empty if there is nothing to say.
std::string default_sentence(const spec::Spec& spec, const record::Record* found, const record::Best& best,
                             const std::optional<Comparison>& comparison);

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
