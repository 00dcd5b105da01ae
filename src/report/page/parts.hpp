// Sections of a report's page as HTML, and the parts that they have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/page/case_view.hpp"
#include "report/plot/canvas.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

/// <h2> to <h6> with escaped text.
std::string heading(int level, std::string_view text);
/// <p> with escaped text.
std::string paragraph(std::string_view text, const char* style = nullptr);
/// A plot with its caption; caption is escaped.
std::string figure(const plot::Canvas& canvas, std::string_view caption, const char* style = nullptr);
/// Plots beside each other.
std::string figures(const std::string& html);
/// Horizontal bars, the first one at the top. axis: of the percentages.
std::string percent_bars(const std::vector<std::pair<std::string, double>>& bars, const std::string& caption,
                         const std::string& description, const std::string& axis);
/// A table, its cells escaped. The first column heads its rows.
struct PageTable {
  enum class Cells {
    left,
    right,
    wrapped,  ///< long texts that may take several lines
  };
  struct Column {
    std::string title;
    Cells cells = Cells::left;
  };
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows = {};
  std::vector<std::string> links = {};  ///< by row: the id that its first cell links to; missing or empty: none
  bool sortable = false;
};
std::string table(const PageTable& content);
/// A list of facts: names and texts, both escaped; those with an empty text are omitted.
std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs);

/// Points of the view's drawn events.
template <class X, class Y, class Take>
std::vector<plot::PlotPoint> drawn_points(const CaseView& view, const X& x, const Y& y, const Take& take) {
  std::vector<plot::PlotPoint> points;
  for (const std::size_t place : view.drawn)
    if (const CaseEvent& event = view.events[place]; take(event)) points.push_back({x(event), y(event), event.row});
  return points;
}

/// The quantile of a sorted list.
double quantile_of(const std::vector<double>& sorted, double part);

// answer.cpp
std::string answer_section(const CaseView& view);
// progress.cpp: the best so far, and the measurements over time.
std::string progress_section(const CaseView& view);
std::string timeline_section(const CaseView& view);
// parameters.cpp: importance, the map of two parameters, and each parameter's values.
std::string parameters_section(const CaseView& view);
// resources.cpp: those of several kernels, the roofline, and the Pareto set of two goals.
std::string resources_section(const CaseView& view);
std::string pareto_section(const CaseView& view);
// configurations.cpp: outcomes, and the table of configurations.
std::string outcomes_section(const CaseView& view);
std::string configurations_section(const CaseView& view);
// explore.cpp: the place where the script draws, and its data.
std::string explore_section(const CaseView& view);
std::string rows_script(const CaseView& view);
// cases.cpp: all cases, one configuration for all of them, and how to measure again.
std::string cases_section(const ReportData& data, std::size_t shown_whole);
std::string origin_section(const ReportData& data);

/// "N=4096 on NVIDIA H100".
std::string case_title(const ReportCase& shown);

}  // namespace xtune::report
