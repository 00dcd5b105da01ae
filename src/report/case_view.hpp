// A case of a report as its plots see it: the figure of merit, the order of the measurements, and the rows to draw.
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

/// What plots show of a configuration: its time, or the value of the spec's objective.
class Merit {
 public:
  Merit(const ReportCase& shown);

  bool is_time() const noexcept { return is_time_; }
  bool maximize() const noexcept { return maximize_; }
  bool better(double a, double b) const { return maximize_ ? a > b : a < b; }
  /// In the axis' unit; NaN: none. Of a pruned record its smallest sample, a lower bound, where time is the merit.
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

/// One record in the order of time.
struct CaseEvent {
  const record::Record* record = nullptr;
  double seconds = 0;  ///< since the first began, without the pauses between runs
  double merit = 0;    ///< NaN: none
  bool of_finals = false;
  long row = -1;  ///< in CaseView::drawn; -1: not drawn
};

/// How much a case may draw and list.
struct CaseLimits {
  std::size_t drawn = 2000, listed = 400;
};

/// Borrows the case.
struct CaseView {
  CaseView(const ReportCase& shown, int number, int heading_level, CaseLimits limits);

  const ReportCase& shown;
  int number;   ///< of the case in the report, from 1
  int heading;  ///< level of the headings of sections
  CaseLimits limits;
  Merit merit;
  std::vector<CaseEvent> events;         ///< without those that follow the device's drift
  std::vector<std::size_t> drawn;        ///< of events; which extremes are always among
  std::vector<space::Parameter> varied;  ///< parameters with the values that occur; at least two each
  search::Importance importance;         ///< its numbers are those of `varied`
  /// The value of a varied parameter, by its place in `values`; nullopt: another one.
  std::optional<std::size_t> level(const record::Record& record, std::size_t parameter) const;
  std::size_t ok_events() const;

 private:
  void add_events();
  void choose_drawn();
  void find_varied();
  void weigh();
};

}  // namespace xtune::report
