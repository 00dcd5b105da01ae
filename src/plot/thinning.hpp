// Fewer points that look like all of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace xtune::plot {

/// A mark of a plot. row: which row of the report's data it stands for; -1: none.
struct PlotPoint {
  double x = 0, y = 0;
  long row = -1;
};

/// A mark from one x to another.
struct PlotSpan {
  double from = 0, to = 0, y = 0;
  long row = -1;
};

/// Which points to draw, `limit` at most (4 at least), in the order of x: of each of many equal ranges of x the first,
/// the last, the lowest and the highest. The extremes of all are always among them.
std::vector<PlotPoint> thinned(std::span<const PlotPoint> points, std::size_t limit);

}  // namespace xtune::plot
