// Escapes and short numbers; ticks at round values; thinning keeps the extremes of each range.
#include "report/plot/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"

namespace xtune::report::plot {

namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : base::printable_lines(text)) {
    constexpr std::string_view special = "&<>\"'";
    constexpr std::string_view names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const std::size_t at = special.find(c);
    if (at == std::string_view::npos)
      result += c;
    else
      result += names[at];
  }
  return result;
}

std::string coordinate(double value) {
  const double rounded = std::round(value * 10) / 10;
  return rounded == 0 ? "0" : fmt::format("{:g}", rounded);
}

std::string short_number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e7)) return fmt::format("{:.{}g}", value, digits);
  const int before = size < 1 ? 1 : static_cast<int>(std::floor(std::log10(size))) + 1;
  int decimals = std::max(0, digits - before);
  if (size != 0 && size < 1) decimals = digits - 1 - static_cast<int>(std::floor(std::log10(size)));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (characters(text) <= limit || limit == 0) return std::string(text);
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size() && count + 1 < limit; ++count) do
      ++end;
    while (end < text.size() && continues_character(text[end]));
  return std::string(text.substr(0, end)) + "\u2026";
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::vector<PlotPoint> thinned(std::span<const PlotPoint> points, std::size_t limit) {
  std::vector<PlotPoint> all;
  for (const PlotPoint& point : points)
    if (std::isfinite(point.x) && std::isfinite(point.y)) all.push_back(point);
  std::stable_sort(all.begin(), all.end(), [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
  if (all.size() <= std::max<std::size_t>(limit, 4)) return all;
  const std::size_t ranges = std::max<std::size_t>(1, limit / 4);
  std::vector<PlotPoint> kept;
  for (std::size_t range = 0; range < ranges; ++range) {
    const std::size_t begin = all.size() * range / ranges, end = all.size() * (range + 1) / ranges;
    if (begin == end) continue;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(end);
    const auto [low, high] =
        std::minmax_element(first, last, [](const PlotPoint& a, const PlotPoint& b) { return a.y < b.y; });
    std::array<std::size_t, 4> chosen{begin, static_cast<std::size_t>(low - all.begin()),
                                      static_cast<std::size_t>(high - all.begin()), end - 1};
    std::sort(chosen.begin(), chosen.end());
    const auto different = std::unique(chosen.begin(), chosen.end());
    for (auto at = chosen.begin(); at != different; ++at) kept.push_back(all[*at]);
  }
  return kept;
}

namespace {

std::vector<Tick> linear_ticks(double low, double high, std::size_t wanted) {
  const double step = round_step((high - low) / static_cast<double>(std::max<std::size_t>(1, wanted)));
  const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 12);
  std::vector<Tick> ticks;
  for (double at = std::ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    const double value = std::abs(at) < step * 1e-9 ? 0 : at;
    ticks.push_back({value, std::abs(value) >= 1e7 ? short_number(value) : fmt::format("{:.{}f}", value, decimals)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, std::size_t wanted) {
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const auto with = [&](std::initializer_list<int> digits, int decades) {
    std::vector<Tick> ticks;
    for (int decade = first; decade <= last; decade += decades)
      for (const int digit : digits) {
        const double value = digit * std::pow(10.0, decade);
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back({value, short_number(value)});
      }
    return ticks;
  };
  if (std::vector<Tick> ticks = with({1, 2, 5}, 1); ticks.size() <= wanted + 1) {
    if (ticks.size() >= 3) return ticks;
    return linear_ticks(low, high, wanted > 1 ? wanted - 1 : 1);
  }
  std::vector<Tick> ticks = with({1}, 1);
  for (int decades = 2; ticks.size() > wanted + 1; ++decades) ticks = with({1}, decades);
  return ticks.size() >= 2 ? ticks : with({1, 3}, 1);
}

}  // namespace

PlotScale::PlotScale(ScaleKind kind, double low, double high) : kind_(kind), low_(low), high_(high) {
  if (!std::isfinite(low_) || !std::isfinite(high_)) low_ = 0, high_ = 1;
  if (low_ > high_) std::swap(low_, high_);
  if (kind_ == ScaleKind::logarithmic && !(low_ > 0)) kind_ = ScaleKind::linear;
  if (low_ == high_) {
    const double apart = low_ == 0 ? 1 : std::abs(low_) * 0.1;
    low_ -= apart, high_ += apart;
  }
}

PlotScale PlotScale::categories(std::vector<std::string> labels) {
  PlotScale scale(ScaleKind::categories, 0, std::max<double>(1, static_cast<double>(labels.size())));
  scale.labels_ = std::move(labels);
  return scale;
}

PlotScale PlotScale::fitting(std::span<const double> values, bool from_zero) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value), high = std::max(high, value);
  }
  if (low > high) return {ScaleKind::linear, 0, 1};
  if (!from_zero && low > 0 && high >= 8 * low) return {ScaleKind::logarithmic, low / 1.1, high * 1.1};
  if (from_zero) low = std::min(0.0, low), high = std::max(0.0, high);
  const PlotScale apart(ScaleKind::linear, low, high);
  const double step = round_step((apart.high_ - apart.low_) / 5);
  double floor = std::floor(apart.low_ / step + 1e-9) * step;
  const double ceiling = std::ceil(apart.high_ / step - 1e-9) * step;
  if (low >= 0) floor = std::max(0.0, floor);
  return {ScaleKind::linear, floor, ceiling};
}

double PlotScale::at(double value) const {
  if (kind_ == ScaleKind::categories) return (value + 0.5) / high_;
  const double inside = std::isnan(value) ? low_ : std::clamp(value, low_, high_);
  if (kind_ == ScaleKind::logarithmic) return std::log(inside / low_) / std::log(high_ / low_);
  return (inside - low_) / (high_ - low_);
}

std::vector<Tick> PlotScale::ticks(std::size_t wanted) const {
  if (kind_ == ScaleKind::linear) return linear_ticks(low_, high_, wanted);
  if (kind_ == ScaleKind::logarithmic) return log_ticks(low_, high_, wanted);
  std::vector<Tick> ticks;
  const std::size_t every = wanted == 0 ? 1 : (labels_.size() + wanted - 1) / wanted;
  for (std::size_t i = 0; i < labels_.size(); i += std::max<std::size_t>(1, every))
    ticks.push_back({static_cast<double>(i), labels_[i]});
  return ticks;
}

double round_step(double least) {
  if (!(least > 0) || !std::isfinite(least)) return 1;
  const double power = std::pow(10, std::floor(std::log10(least) + 1e-9));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

TimeUnit time_unit(double typical_ms) {
  if (typical_ms >= 1000) return {"s", 1e-3};
  if (typical_ms >= 1 || !(typical_ms > 0)) return {"ms", 1};
  if (typical_ms >= 1e-3) return {"us", 1e3};
  return {"ns", 1e6};
}

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

std::string rect(const char* style, double x, double y, double width, double height, const std::string& inside = {}) {
  const std::string end = inside.empty() ? "/>" : ">" + inside + "</rect>";
  return fmt::format("<rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}",
                     style ? fmt::format(" class=\"{}\"", style) : "", coordinate(x), coordinate(y), coordinate(width),
                     coordinate(height), end);
}

/// label: whether it is that of an axis or a band.
std::string text_at(double x, double y, const char* anchor, const std::string& text, bool label = false) {
  return fmt::format("<text{} x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", label ? " class=\"al\"" : "",
                     coordinate(x), coordinate(y), anchor, escaped(text));
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
    words += text_at(left_ - 7, at + 4, "end", tick.label);
  }
  for (const Tick& tick : x_ticks_) {
    const double at = left(tick.value);
    if (x_.scale.kind() != ScaleKind::categories) grid += fmt::format("M{} {}v4", coordinate(at), coordinate(bottom_));
    words += text_at(at, bottom_ + 16, "middle", tick.label);
  }
  const std::string base = fmt::format("M{} {}H{}", coordinate(left_), coordinate(bottom_), coordinate(right_));
  if (!x_.label.empty()) words += text_at(right_, size_.height - 6, "end", x_.label, true);
  if (!y_.label.empty()) words += fmt::format("<text class=\"al\" x=\"2\" y=\"13\">{}</text>", escaped(y_.label));
  marks_ += fmt::format("<path class=\"grid\" d=\"{}\"/><path class=\"axis\" d=\"{}\"/>{}", grid, base, words);
}

void Canvas::band(double from, double to, const std::string& label) {
  const double begin = left(from), end = std::max(left(to), left(from) + 1);
  marks_ += rect("band", begin, top_, end - begin, bottom_ - top_);
  if (label.empty()) return;
  const bool inside = end - begin > width_of(label) + 8;
  marks_ += text_at(inside ? begin + 4 : begin - 4, top_ + 12, inside ? "start" : "end", label, true);
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
  marks_ += rect(style, begin, upper, std::max(0.8, end - begin), std::max(0.8, lower - upper), tip_element(tip));
}

void Canvas::cell(std::size_t x, std::size_t y, const char* style, const std::string& tip, const std::string& word) {
  const double width = (right_ - left_) / x_.scale.high(), height = (bottom_ - top_) / y_.scale.high();
  const double middle = left(static_cast<double>(x)), centre = top(static_cast<double>(y));
  marks_ += fmt::format("<g class=\"{}\">", style) + rect(nullptr, middle - width / 2 + 0.5, centre - height / 2 + 0.5,
                                                          std::max(0.5, width - 1), std::max(0.5, height - 1),
                                                          tip_element(tip));
  if (!word.empty() && width > width_of(word) + 2 && height > 13) marks_ += text_at(middle, centre + 4, "middle", word);
  marks_ += "</g>";
}

void Canvas::bar(std::size_t y, double to, const char* style, const std::string& tip) {
  const double height = std::min(16.0, (bottom_ - top_) / y_.scale.high() * 0.7);
  const double centre = top(static_cast<double>(y));
  marks_ += rect(style, left_, centre - height / 2, std::max(1.0, left(to) - left_), height, tip_element(tip));
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
  marks_ += text_at(left(x) + away, top(y) + 4, anchor, text);
}

std::string Canvas::svg() const {
  return fmt::format("<svg role=\"img\" viewBox=\"0 0 {} {}\"><title>{}</title><desc>{}</desc>{}</svg>",
                     coordinate(size_.width), coordinate(size_.height), escaped(text_.title),
                     escaped(text_.description), marks_);
}

}  // namespace xtune::report::plot
