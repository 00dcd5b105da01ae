// The data of a report's case for plots: the figure of merit, the order of the measurements, and the rows to draw.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/search/importance.hpp"
#include "plot/canvas.hpp"
#include "report/report_data.hpp"

namespace xtune::report {

/// The value of a configuration in plots: its time, or the value of the spec's objective.
class Merit {
 public:
  Merit(const ReportCase& shown);

  bool is_time() const noexcept { return is_time_; }
  bool maximize() const noexcept { return maximize_; }
  bool better(double a, double b) const { return maximize_ ? a > b : a < b; }
  /// In the axis' unit; NaN: none. For a pruned record its minimum sample, a lower bound, if time is the merit.
  double of(const record::Record& record) const;
  const std::string& axis() const noexcept { return axis_; }  ///< "time, us"
  const std::string& name() const noexcept { return name_; }  ///< "time"
  /// "52.0 us", "2580".
  std::string text(double value) const;

 private:
  const spec::Spec* spec_;
  bool is_time_ = true, maximize_ = false;
  plot::TimeUnit unit_;
  std::string axis_, name_;
};

/// One record, ordered by time.
struct CaseEvent {
  const record::Record* record = nullptr;
  double seconds = 0;  ///< since the first began, without the pauses between runs
  double merit = 0;    ///< NaN: none
  bool of_finals = false;
  long row = -1;  ///< index in CaseView::drawn; -1: not drawn
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
  /// The index of a varied parameter's value in `values`; nullopt: another value.
  std::optional<std::size_t> level(const record::Record& record, std::size_t parameter) const;
  std::size_t ok_events() const;

 private:
  void add_events();
  void choose_drawn();
  void find_varied();
  void weigh();
};

}  // namespace xtune::report
