// Draws axes and marks as SVG elements.
#include "plot/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/markup.hpp"

namespace xtune::plot {
namespace {

constexpr double letter_width = 7;  // for the 12-pixel font of all labels in a plot
constexpr double capital_width = 8.4;
constexpr std::size_t longest_label = 24;

double width_of(std::string_view text) {
  const auto capitals = std::count_if(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return letter_width * static_cast<double>(characters(text)) +
         (capital_width - letter_width) * static_cast<double>(capitals);
}

std::string rows_attribute(const std::vector<PlotPoint>& points) {
  if (std::all_of(points.begin(), points.end(), [](const PlotPoint& point) { return point.row < 0; })) return "";
  std::string rows;
  for (const PlotPoint& point : points) rows += (rows.empty() ? "" : " ") + std::to_string(point.row);
  return fmt::format(" data-r=\"{}\"", rows);
}

std::string tip_element(const std::string& tip) {
  return tip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tip));
}

}  // namespace

Canvas::Canvas(PlotText text, PlotAxis x, PlotAxis y, PlotSize size)
    : text_(std::move(text)), x_(std::move(x)), y_(std::move(y)), size_(size) {
  place_axes();
  draw_axes();
}

void Canvas::place_axes() {
  y_ticks_ = y_.scale.ticks(y_.scale.kind() == ScaleKind::categories ? 0 : y_.ticks);
  double widest = 0;
  for (Tick& tick : y_ticks_) {
    tick.label = shortened(tick.label, longest_label);
    widest = std::max(widest, width_of(tick.label));
  }
  left_ = 12 + widest;
  right_ = size_.width - 14;
  top_ = y_.label.empty() ? 8 : 26;
  bottom_ = size_.height - (x_.label.empty() ? 22 : 40);
  if (x_.scale.kind() != ScaleKind::categories) {
    x_ticks_ = x_.scale.ticks(x_.ticks);
    return;
  }
  double longest = letter_width;
  for (const Tick& tick : x_.scale.ticks(0))
    longest = std::max(longest, width_of(shortened(tick.label, longest_label)));
  const double room = (right_ - left_) / (longest + 8);
  x_ticks_ = x_.scale.ticks(std::max<std::size_t>(1, static_cast<std::size_t>(room)));
  for (Tick& tick : x_ticks_) tick.label = shortened(tick.label, longest_label);
}

void Canvas::draw_axes() {
  std::string grid, words;
  for (const Tick& tick : y_ticks_) {
    const double at = top(tick.value);
    if (y_.scale.kind() != ScaleKind::categories)
      grid += fmt::format("M{} {}H{}", coordinate(left_), coordinate(at), coordinate(right_));
    words += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", coordinate(left_ - 7),
                         coordinate(at + 4), escaped(tick.label));
  }
  for (const Tick& tick : x_ticks_) {
    const double at = left(tick.value);
    if (x_.scale.kind() != ScaleKind::categories) grid += fmt::format("M{} {}v4", coordinate(at), coordinate(bottom_));
    words += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", coordinate(at),
                         coordinate(bottom_ + 16), escaped(tick.label));
  }
  const std::string base = fmt::format("M{} {}H{}", coordinate(left_), coordinate(bottom_), coordinate(right_));
  if (!x_.label.empty())
    words += fmt::format("<text class=\"al\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", coordinate(right_),
                         coordinate(size_.height - 6), escaped(x_.label));
  if (!y_.label.empty()) words += fmt::format("<text class=\"al\" x=\"2\" y=\"13\">{}</text>", escaped(y_.label));
  marks_ += fmt::format("<path class=\"grid\" d=\"{}\"/><path class=\"axis\" d=\"{}\"/>{}", grid, base, words);
}

void Canvas::band(double from, double to, const std::string& label) {
  const double begin = left(from), end = std::max(left(to), left(from) + 1);
  marks_ += fmt::format("<rect class=\"band\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", coordinate(begin),
                        coordinate(top_), coordinate(end - begin), coordinate(bottom_ - top_));
  if (label.empty()) return;
  const bool inside = end - begin > width_of(label) + 8;
  marks_ += fmt::format("<text class=\"al\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                        coordinate(inside ? begin + 4 : begin - 4), coordinate(top_ + 12), inside ? "start" : "end",
                        escaped(label));
}

void Canvas::dots(std::span<const PlotPoint> points, const char* style, std::size_t limit) {
  const std::vector<PlotPoint> kept = thinned(points, limit);
  if (kept.empty()) return;
  std::string path;
  for (const PlotPoint& point : kept)
    path += fmt::format("M{} {}h0", coordinate(left(point.x)), coordinate(top(point.y)));
  marks_ += fmt::format("<path class=\"dots {}\"{} d=\"{}\"/>", style, rows_attribute(kept), path);
}

void Canvas::strokes(std::span<const PlotPoint> points, const char* style, std::size_t limit) {
  const std::vector<PlotPoint> kept = thinned(points, limit);
  if (kept.empty()) return;
  std::string path;
  const double half = std::min(9.0, (bottom_ - top_) / std::max(1.0, y_.scale.high()) * 0.35);
  for (const PlotPoint& point : kept)
    path += fmt::format("M{} {}v{}", coordinate(left(point.x)), coordinate(top(point.y) - half), coordinate(2 * half));
  marks_ += fmt::format("<path class=\"strokes {}{}\"{} d=\"{}\"/>", style, kept.size() > 300 ? " dense" : "",
                        rows_attribute(kept), path);
}

void Canvas::steps(std::span<const PlotPoint> points, const char* style, double to_x, std::size_t limit) {
  const std::vector<PlotPoint> kept = thinned(points, limit);
  if (kept.empty()) return;
  std::string path = fmt::format("M{} {}", coordinate(left(kept[0].x)), coordinate(top(kept[0].y)));
  for (std::size_t i = 1; i < kept.size(); ++i)
    path += fmt::format("H{}V{}", coordinate(left(kept[i].x)), coordinate(top(kept[i].y)));
  marks_ += fmt::format("<path class=\"line {}\" d=\"{}H{}\"/>", style, path, coordinate(left(to_x)));
}

void Canvas::line(std::span<const PlotPoint> points, const char* style) {
  std::string path;
  for (const PlotPoint& point : points)
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(left(point.x)), coordinate(top(point.y)));
  if (!path.empty()) marks_ += fmt::format("<path class=\"line {}\" d=\"{}\"/>", style, path);
}

void Canvas::box(double x0, double y0, double x1, double y1, const char* style, const std::string& tip) {
  const double begin = left(std::min(x0, x1)), end = left(std::max(x0, x1));
  const double upper = top(std::max(y0, y1)), lower = top(std::min(y0, y1));
  marks_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>", style,
                        coordinate(begin), coordinate(upper), coordinate(std::max(0.8, end - begin)),
                        coordinate(std::max(0.8, lower - upper)), tip_element(tip));
}

void Canvas::cell(std::size_t x, std::size_t y, const char* style, const std::string& tip, const std::string& word) {
  const double width = (right_ - left_) / x_.scale.high(), height = (bottom_ - top_) / y_.scale.high();
  const double middle = left(static_cast<double>(x)), centre = top(static_cast<double>(y));
  marks_ += fmt::format("<g class=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>", style,
                        coordinate(middle - width / 2 + 0.5), coordinate(centre - height / 2 + 0.5),
                        coordinate(std::max(0.5, width - 1)), coordinate(std::max(0.5, height - 1)), tip_element(tip));
  if (!word.empty() && width > width_of(word) + 2 && height > 13)
    marks_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", coordinate(middle),
                          coordinate(centre + 4), escaped(word));
  marks_ += "</g>";
}

void Canvas::bar(std::size_t y, double to, const char* style, const std::string& tip) {
  const double height = std::min(16.0, (bottom_ - top_) / y_.scale.high() * 0.7);
  const double centre = top(static_cast<double>(y));
  marks_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>", style,
                        coordinate(left_), coordinate(centre - height / 2), coordinate(std::max(1.0, left(to) - left_)),
                        coordinate(height), tip_element(tip));
}

void Canvas::whisker(std::size_t y, double low, double high, const char* style) {
  const double centre = top(static_cast<double>(y));
  marks_ += fmt::format("<path class=\"line {}\" d=\"M{} {}H{}\"/>", style, coordinate(left(low)), coordinate(centre),
                        coordinate(std::max(left(high), left(low) + 1)));
}

void Canvas::spans(std::span<const PlotSpan> spans, const char* style) {
  std::string path;
  std::vector<PlotPoint> rows;
  for (const PlotSpan& span : spans) {
    const double begin = left(span.from), end = left(span.to);
    path +=
        fmt::format("M{} {}h{}", coordinate(begin), coordinate(top(span.y)), coordinate(std::max(0.5, end - begin)));
    rows.push_back({span.from, span.y, span.row});
  }
  if (!path.empty()) marks_ += fmt::format("<path class=\"spans {}\"{} d=\"{}\"/>", style, rows_attribute(rows), path);
}

void Canvas::word(double x, double y, const std::string& text, const char* anchor) {
  const double away = anchor[0] == 's' ? 7 : anchor[0] == 'e' ? -7 : 0;
  marks_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", coordinate(left(x) + away),
                        coordinate(top(y) + 4), anchor, escaped(text));
}

std::string Canvas::svg() const {
  return fmt::format("<svg role=\"img\" viewBox=\"0 0 {} {}\"><title>{}</title><desc>{}</desc>{}</svg>",
                     coordinate(size_.width), coordinate(size_.height), escaped(text_.title),
                     escaped(text_.description), marks_);
}

}  // namespace xtune::plot
