// One plot as SVG: two axes, and marks between them. Colours come from classes of the page's style.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plot/scale.hpp"
#include "plot/thinning.hpp"

namespace xtune::plot {

struct PlotAxis {
  PlotScale scale;
  std::string label;  ///< with the unit: "time, us"
  std::size_t ticks = 5;
};

struct PlotSize {
  double width = 460, height = 270;
};

/// The texts of a plot for a screen reader.
struct PlotText {
  std::string title, description;
};

/// All names and labels are escaped; classes must be constants of the page.
class Canvas {
 public:
  Canvas(PlotText text, PlotAxis x, PlotAxis y, PlotSize size = {});

  /// A shaded range of x, with a label at its top.
  void band(double from, double to, const std::string& label);
  /// Points as dots. No more than `limit` of them are drawn.
  void dots(std::span<const PlotPoint> points, const char* style, std::size_t limit);
  /// Short vertical strokes, for lanes of a category axis; draws up to `limit` in each lane.
  void strokes(std::span<const PlotPoint> points, const char* style, std::size_t limit);
  /// A line that keeps its height until the next point; to_x: its end.
  void steps(std::span<const PlotPoint> points, const char* style, double to_x, std::size_t limit);
  void line(std::span<const PlotPoint> points, const char* style);
  /// A rectangle between two corners in values of the scales; tip: shown when the pointer rests on it.
  void box(double x0, double y0, double x1, double y1, const char* style, const std::string& tip = {});
  /// The cell of two categories, scaled to `part` of its size.
  void cell(std::size_t x, std::size_t y, const char* style, const std::string& tip, const std::string& word);
  /// A bar of category y from the left to `to`.
  void bar(std::size_t y, double to, const char* style, const std::string& tip);
  /// Horizontal whiskers of category y.
  void whisker(std::size_t y, double low, double high, const char* style);
  /// Thick strokes from one x to another, in lanes of a category axis.
  void spans(std::span<const PlotSpan> spans, const char* style);
  /// A label at a point.
  void word(double x, double y, const std::string& text, const char* anchor = "start");

  std::string svg() const;

 private:
  double left(double x) const { return left_ + x_.scale.at(x) * (right_ - left_); }
  double top(double y) const { return bottom_ - y_.scale.at(y) * (bottom_ - top_); }
  void place_axes();
  void draw_axes();

  PlotText text_;
  PlotAxis x_, y_;
  PlotSize size_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
  std::vector<Tick> x_ticks_, y_ticks_;
  std::string marks_;
};

}  // namespace xtune::plot
