// Parts of the sections of a report's page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plot/canvas.hpp"
#include "report/case_view.hpp"

namespace xtune::report {

/// <h2> to <h6> with escaped text.
std::string heading(int level, std::string_view text);
/// <p> with escaped text.
std::string paragraph(std::string_view text, const char* style = nullptr);
/// A plot with its caption; caption is escaped.
std::string figure(const plot::Canvas& canvas, std::string_view caption, const char* style = nullptr);
/// A table, its cells escaped; columns whose name is in `right` align right. The first column heads its rows.
struct PageTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;         ///< by column; missing: left
  std::vector<bool> wraps;         ///< by column: long texts that may take several lines
  std::vector<std::string> links;  ///< by row: the id that its first cell links to; missing or empty: none
  bool sortable = false;
};
std::string table(const PageTable& content);
/// A list of facts: names and texts, both escaped; those with an empty text are omitted.
std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs);

/// Points of the view's drawn events. Those without finite values are omitted.
template <class X, class Y, class Take>
std::vector<plot::PlotPoint> drawn_points(const CaseView& view, const X& x, const Y& y, const Take& take) {
  std::vector<plot::PlotPoint> points;
  for (const std::size_t place : view.drawn) {
    const CaseEvent& event = view.events[place];
    if (take(event)) points.push_back({x(place, event), y(place, event), event.row});
  }
  return points;
}

/// "1 configuration", "2 configurations".
std::string counted_text(std::size_t count, const char* noun);
/// The quantile of a sorted list.
double quantile_of(const std::vector<double>& sorted, double part);

}  // namespace xtune::report
