// Plots as SVG: scales, marks, and which of many marks are drawn; HTML and SVG as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::report::plot {

/// For text and for quoted attribute values. Control characters and invalid UTF-8 become visible escapes; line ends are
/// kept.
std::string escaped(std::string_view text);

/// A coordinate with at most one decimal: "12", "12.5".
std::string coordinate(double value);

/// A number with up to `digits` significant digits, without an exponent if it is short enough: "0.25", "1200".
std::string short_number(double value, int digits = 3);

/// The text itself, or its first characters and an ellipsis: up to `limit` characters.
std::string shortened(std::string_view text, std::size_t limit);

/// The number of characters in a text, by code points.
std::size_t characters(std::string_view text);

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

enum class ScaleKind { linear, logarithmic, categories };

struct Tick {
  double value = 0;
  std::string label;
};

/// Maps values to 0 .. 1.
class PlotScale {
 public:
  /// From low to high; equal or infinite ends are changed. A logarithmic scale needs positive ends, else it is linear.
  PlotScale(ScaleKind kind, double low, double high);
  /// The values 0, 1, 2 ... are in the middle of equal parts, with these labels.
  static PlotScale categories(std::vector<std::string> labels);
  /// A scale that contains all finite values: logarithmic if they are positive and the largest is at least eight times
  /// the smallest, else linear. Linear ends are round values. from_zero: linear and from 0.
  static PlotScale fitting(std::span<const double> values, bool from_zero = false);

  ScaleKind kind() const noexcept { return kind_; }
  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }
  /// Values beyond the ends count as the ends.
  double at(double value) const;
  /// About `wanted` round values from low to high. For categories: as many as fit, if each takes `wanted` places.
  std::vector<Tick> ticks(std::size_t wanted) const;

 private:
  ScaleKind kind_;
  double low_, high_;
  std::vector<std::string> labels_;
};

/// The next larger round number (1, 2 or 5 times a power of ten), for steps between ticks.
double round_step(double least);

/// The unit in which a series of times is shown, such as "us", and its factor for milliseconds.
struct TimeUnit {
  const char* name = "ms";
  double per_ms = 1;
};
TimeUnit time_unit(double typical_ms);

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

}  // namespace xtune::report::plot
