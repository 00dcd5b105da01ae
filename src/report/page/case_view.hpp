// The data of a report: records of one problem on one kind of device, and what plots and tables show of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/run/tuner.hpp"
#include "core/search/importance.hpp"
#include "core/spec/spec.hpp"
#include "core/store/best.hpp"
#include "core/store/lookup.hpp"
#include "core/store/objective.hpp"
#include "report/plot/canvas.hpp"

namespace xtune::report {

/// Records of one problem on one kind of device. A copy shares the records.
struct ReportCase {
  std::shared_ptr<const spec::Spec> spec;
  Bindings problem;  ///< the problem of the records
  device::DeviceInfo device;
  /// By the time at which they ended; their times are on the scale of the best one's (store::put_on_one_scale).
  std::shared_ptr<const std::vector<store::Record>> records;
  std::shared_ptr<const store::Standings> standings;
  std::vector<const store::Record*> ranked;  ///< standings->order()
  std::optional<store::Best> best;
  Bindings asked;                            ///< the requested problem
  store::Match match = store::Match::exact;  ///< how well the records fit the request
  std::vector<std::string> notes;            ///< about the answer, one sentence each
  std::uint64_t space_size = 0;              ///< valid configurations; 0: unknown
  std::size_t omitted = 0;                   ///< records that the store has as well (store::overview_of)
  std::optional<Bindings> default_config;    ///< what a call runs without a measurement; unset: unknown
};

struct ReportData {
  std::vector<ReportCase> cases;
  std::size_t omitted = 0;               ///< cases that the store has as well
  std::size_t omitted_records = 0;       ///< of these
  std::vector<std::string> run_command;  ///< for measuring again; empty: unknown
  std::vector<std::string> command;      ///< that wrote the report
  std::string version;                   ///< of xtune
  std::int64_t written_unix_ms = 0;
  enum class Live { no, running, ended };
  Live live = Live::no;  ///< whether a run serves the page while it measures: the script loads it again
};

/// Sorts the records, and ranks them by the spec's objective. answer: the key of the record that a lookup has chosen,
/// empty if it has chosen none: records that rank before it do not answer, and are drawn but not ranked. Unset: the
/// best answers.
ReportCase make_report_case(std::shared_ptr<const spec::Spec> spec, Bindings problem, device::DeviceInfo device,
                            std::vector<store::Record> records,
                            const std::optional<std::string>& answer = std::nullopt);
/// From records that a run measured or found in the store.
ReportCase report_case_of(std::shared_ptr<const spec::Spec> spec, const run::TuneResult& result);

/// A spec for records whose spec is unknown: their parameters with the values that occur, by name. records: not empty;
/// the newest one determines the parameters.
spec::Spec spec_of_records(const std::string& kernel, const std::vector<store::Record>& records);

/// The value of a configuration in plots: its time, or the value of the spec's objective.
class Merit {
 public:
  Merit(const ReportCase& shown);

  bool is_time() const noexcept { return is_time_; }
  bool maximize() const noexcept { return maximize_; }
  bool better(double a, double b) const { return maximize_ ? a > b : a < b; }
  /// In the axis' unit; NaN: none. For a pruned record its minimum sample, a lower bound, if time is the merit.
  double of(const store::Record& record) const;
  const std::string& axis() const noexcept { return axis_; }  ///< "time, us"
  const std::string& name() const noexcept { return name_; }  ///< "time"
  const plot::TimeUnit& unit() const noexcept { return unit_; }
  /// "52.0 us", "2580".
  std::string text(double value) const;

 private:
  const spec::Spec* spec_;
  bool is_time_ = true, maximize_ = false;
  plot::TimeUnit unit_;
  std::string axis_, name_;
};

/// The indices of a configuration's values in those of the parameters; nullopt: it has another value.
std::optional<std::vector<std::uint32_t>> levels_of(std::span<const space::Parameter> parameters,
                                                    const Bindings& config);

/// One record, ordered by time.
struct CaseEvent {
  const store::Record* record = nullptr;
  double seconds = 0;  ///< since the first began, without the pauses between runs
  double merit = 0;    ///< NaN: none
  bool of_finals = false;
  /// Whether it is what came of its configuration, which counts once however often it was measured: its last verdict of
  /// the search, or a later failure in finals; of one that was only pruned, the last time.
  bool counts = false;
  double number = 1;  ///< in this order, from 1
  long row = -1;      ///< index in CaseView::drawn; -1: not drawn
};

/// How much of a case may be drawn and listed.
struct CaseLimits {
  std::size_t drawn = 2000, listed = 400;
};

/// Does not own the case.
struct CaseView {
  CaseView(const ReportCase& shown, int number, int heading_level, CaseLimits limits);

  const ReportCase& shown;
  int number;   ///< number of the case in the report, from 1
  int heading;  ///< level of the headings of sections
  CaseLimits limits;
  Merit merit;
  std::vector<CaseEvent> events;         ///< without measurements of the device's drift
  std::vector<std::size_t> drawn;        ///< indices into events, including the extremes
  std::vector<space::Parameter> varied;  ///< parameters with the values that occur; at least two each
  search::Importance importance;         ///< its parameter numbers are those of `varied`
  std::vector<std::size_t> order;        ///< numbers of all varied parameters, the most important first
  /// The index of a varied parameter's value in its values; nullopt: another value.
  std::optional<std::size_t> level(const store::Record& record, std::size_t parameter) const;
  std::size_t ok_events() const;

 private:
  void add_events();
  void choose_drawn();
  void find_varied();
  void weigh();
};

}  // namespace xtune::report
