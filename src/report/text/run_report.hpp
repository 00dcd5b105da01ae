// What a run found, as text and as JSON: while it runs, at its end, and its failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/run/tuner.hpp"
#include "core/space/value.hpp"
#include "core/spec/spec.hpp"
#include "core/store/best.hpp"
#include "core/store/objective.hpp"
#include "core/store/record.hpp"

namespace xtune::report {

/// The `rows` best configurations with their intervals and metrics, then outcomes with an example of each failure,
/// times and the winner. width: of tables, as far as possible. styles: with the marks of base/text.hpp.
std::string run_text(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows, std::size_t width = 80,
                     bool styles = false);

/// The default configuration, compared with the best: "41.0 us, 1.3 times the time of the best (BLOCK=64)". found: its
/// record; null: it was not tried. standings: not empty. Empty if there is nothing to say.
std::string default_sentence(const spec::Spec& spec, const store::Record* found, const store::Standings& standings);

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

/// A column of measured values in a table of configurations.
struct MeasuredColumn {
  std::string title;
  std::function<std::string(const store::Record&)> cell;  ///< of a record that passed; "-": unknown
};
/// Time, its multiple of the best one's with the interval of that (of the time itself if the objective is another
/// value), and noise; and where one of the records has them, the speed-up over the reference, outliers, and
/// whether launches gave the same bits. spec and standings must outlive the columns.
std::vector<MeasuredColumn> measured_columns(const spec::Spec& spec, const std::vector<const store::Record*>& records,
                                             const store::Standings& standings);

/// The finals among the records that decided about this one; nullopt: none.
std::optional<store::FinalsResult> finals_behind(const std::vector<store::Record>& records, const store::Record& best,
                                                 const store::Criterion& criterion);
/// Whether the advisor proposed the configuration of this record; records of finals do not say so themselves.
bool is_advised(const run::TuneResult& result, const store::Record& best);
/// What came of a configuration: the record that is ranked, else the last one. Null: there is none, or no
/// configuration. standings: of the records.
const store::Record* record_of(const std::optional<Bindings>& config, const store::Standings& standings,
                               const std::vector<const store::Record*>& records);

/// {"kernel", "device", "problem", "best", "default", "top", "finals", "counts", "failures", "trace", "seconds",
/// "from_store"}; best is null if nothing passed, default if it was not tried, finals if none were held; top lists the
/// `rows` best, trace everything that was tried. Of a prediction also "prediction": {"config", "time_ms",
/// "expected", "source"}.
nlohmann::ordered_json run_json(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows);

/// "expected time 2 ms, with 80 % probability 1 ms to 3 ms".
std::string expected_text(const ExpectedTime& expected);
/// {"time_ms", "interval_ms"}, or null.
nlohmann::ordered_json expected_json(const std::optional<ExpectedTime>& expected);

/// The configuration chosen for all cases, and its cost in each, by [objective] across.
std::string across_text(const spec::Spec& spec, const std::optional<store::AcrossChoice>& choice);
/// {"rule", "config", "score", "ratio", "time_ms"} for one case; config is null if none passed in all cases.
nlohmann::ordered_json across_json(const spec::Spec& spec, const std::optional<store::AcrossChoice>& choice,
                                   std::size_t index);

/// A configuration in the spec's order: "BLOCK_M=64 BLOCK_N=32".
std::string config_text(const spec::Spec& spec, const Bindings& config);
/// The values that differ from the other's.
Bindings without(Bindings values, const Bindings& other);
/// "9 ok, 3 pruned"; empty for none.
std::string counts_text(const std::map<Outcome, std::uint64_t>& counts);
/// {"ok": 9, "pruned": 3}
nlohmann::ordered_json counts_json(const std::map<Outcome, std::uint64_t>& counts);
/// "TFLOPS 42.1, GBps 300" for a measured record.
std::string metrics_text(const spec::Spec& spec, const store::Record& record);
/// "objective: least energy_j 0.5, most TFLOPS 42" for a measured record, if the spec has goals.
std::string objective_text(const spec::Spec& spec, const store::Record& record);
/// {"config", "time_ms", "metrics", "interval_ms", ...} for a measured record.
nlohmann::ordered_json measured_json(const spec::Spec& spec, const store::Record& record);
using store::bindings_json;

/// The configurations of a run that ended with one outcome other than ok and pruned.
struct FailureGroup {
  Outcome outcome = Outcome::rejected;
  std::uint64_t count = 0;
  bool sanitizer = false;  ///< AddressSanitizer or UBSan reported at least one of them
  const store::Record* example =
      nullptr;  ///< from the result: one with a report, else the first with a message; may be null
};

/// Groups with sanitizer reports come first, then the most frequent; `rejected` comes last, because it is not an error
/// of a kernel.
std::vector<FailureGroup> failure_groups(const run::TuneResult& result);

/// A line for users of the host backend whose kernel crashed or was wrong; empty: --sanitize would not help.
std::string sanitize_hint(const run::TuneResult& result);

/// A line for each: "3 crashed, e.g. BLOCK=64: AddressSanitizer: heap-buffer-overflow ... conv.cu:62".
std::string failures_text(const spec::Spec& spec, const run::TuneResult& result);

/// [{"outcome", "count", "sanitizer", "config", "message"}], the last two of the example.
nlohmann::ordered_json failures_json(const run::TuneResult& result);

/// Seconds since the first start, without pauses between runs.
class ActiveTime {
 public:
  /// The start and end of each run (unix time, ms).
  explicit ActiveTime(std::vector<std::pair<double, double>> intervals_ms);
  /// The runs that wrote these records: each from the start of its first record to the end of its last one.
  static ActiveTime of(const std::vector<const store::Record*>& records);
  double seconds_until(double unix_time_ms) const;

 private:
  std::vector<std::pair<double, double>> merged_;
};

/// [{"config", "outcome", "time_ms", "seconds", "message", "finals"}] for every configuration that was tried and for
/// the finals: time_ms is null without a measurement and the minimum sample for a pruned one; message and finals are
/// omitted if there are none.
nlohmann::ordered_json trace_json(const spec::Spec& spec, const run::TuneResult& result);

/// The best configurations of each case (run_json's top): kernel, device, problem, rank, configuration, times and
/// metrics. A spec that failed is a row with its error.
std::vector<nlohmann::ordered_json> run_rows(const std::vector<nlohmann::ordered_json>& answers);

/// One row for each problem: the configuration that is used, how it fits, and where it was measured.
std::vector<nlohmann::ordered_json> best_rows(const std::vector<nlohmann::ordered_json>& answers);

/// "[12/300] best 52.9 us | 8.9 configs/s, 12 s left | 3 compiling, 2 waiting | BLOCK=256 UNROLL=8", in at most this
/// many columns. What matters less is omitted first: the queues, the rate, then of the best configuration all
/// parameters that are as in the default one, or that find no room ("..."). width 0: for a file, everything.
std::string progress_line(const spec::Spec& spec, const run::Progress& progress, std::size_t width);

}  // namespace xtune::report
