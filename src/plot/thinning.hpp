// Reduces the points of a plot without changing its appearance.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace xtune::plot {

/// A mark of a plot. row: its row in the report's data; -1: none.
struct PlotPoint {
  double x = 0, y = 0;
  long row = -1;
};

/// A mark from one x to another.
struct PlotSpan {
  double from = 0, to = 0, y = 0;
  long row = -1;
};

/// Chooses up to `limit` points (at least 4) to draw, in the order of x: for each of many equal ranges of x the first,
/// the last, the lowest and the highest. The overall extremes are always included.
std::vector<PlotPoint> thinned(std::span<const PlotPoint> points, std::size_t limit);

}  // namespace xtune::plot
