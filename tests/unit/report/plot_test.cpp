// Tests of scales, ticks, thinning, escaping and the SVG of a plot.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/plot/canvas.hpp"
#include "support/text.hpp"

using namespace xtune::report::plot;
using namespace xtune::test;

namespace {

std::vector<std::string> labels_of(const PlotScale& scale, std::size_t wanted) {
  std::vector<std::string> labels;
  for (const Tick& tick : scale.ticks(wanted)) labels.push_back(tick.label);
  return labels;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("Ticks are round values") {
  CHECK(labels_of({ScaleKind::linear, 0, 10}, 5) == Labels{"0", "2", "4", "6", "8", "10"});
  CHECK(labels_of({ScaleKind::linear, 0.11, 0.29}, 4) == Labels{"0.15", "0.20", "0.25"});
  CHECK(labels_of({ScaleKind::linear, -1, 1}, 4) == Labels{"-1.0", "-0.5", "0.0", "0.5", "1.0"});
  CHECK(labels_of({ScaleKind::logarithmic, 0.9, 120}, 8) == Labels{"1", "2", "5", "10", "20", "50", "100"});
  CHECK(labels_of({ScaleKind::logarithmic, 1, 1e6}, 5) == Labels{"1", "100", "10000", "1000000"});
  CHECK(labels_of({ScaleKind::logarithmic, 11, 19}, 5).size() >= 2);
  CHECK(labels_of(PlotScale::categories({"a", "b", "c", "d"}), 2) == Labels{"a", "c"});
}

TEST_CASE("A scale maps its ends to 0 and 1 and never leaves them") {
  const PlotScale linear(ScaleKind::linear, 2, 4), log(ScaleKind::logarithmic, 1, 100);
  CHECK(linear.at(2) == 0);
  CHECK(linear.at(3) == doctest::Approx(0.5));
  CHECK(linear.at(9) == 1);
  CHECK(log.at(10) == doctest::Approx(0.5));
  CHECK(log.at(0) == 0);
  CHECK(linear.at(NAN) == 0);
  CHECK(PlotScale::categories({"a", "b"}).at(1) == doctest::Approx(0.75));
  const PlotScale point(ScaleKind::linear, 5, 5);
  CHECK(point.low() < 5);
  CHECK(point.high() > 5);
  CHECK(PlotScale(ScaleKind::logarithmic, 0, 5).kind() == ScaleKind::linear);
  CHECK(PlotScale(ScaleKind::linear, -HUGE_VAL, HUGE_VAL).high() == 1);
}

TEST_CASE("The scale that fits is logarithmic for values that differ by much") {
  CHECK(PlotScale::fitting(std::vector<double>{1, 9}).kind() == ScaleKind::logarithmic);
  CHECK(PlotScale::fitting(std::vector<double>{1, 7}).kind() == ScaleKind::linear);
  CHECK(PlotScale::fitting(std::vector<double>{0, 9}).kind() == ScaleKind::linear);
  CHECK(PlotScale::fitting(std::vector<double>{1, 9}, true).low() == 0);
  const PlotScale some = PlotScale::fitting(std::vector<double>{3.1, NAN, 3.9, HUGE_VAL});
  CHECK(some.low() <= 3.1);
  CHECK(some.low() >= 2.8);
  CHECK(some.high() >= 3.9);
  CHECK(PlotScale::fitting(std::vector<double>{}).high() == 1);
}

TEST_CASE("Units of time fit what is shown") {
  CHECK(std::string(time_unit(2500).name) == "s");
  CHECK(std::string(time_unit(2.5).name) == "ms");
  CHECK(std::string(time_unit(0.5).name) == "us");
  CHECK(std::string(time_unit(5e-4).name) == "ns");
  CHECK(round_step(3) == 5);
  CHECK(round_step(0.02) == doctest::Approx(0.02));
  CHECK(round_step(NAN) == 1);
}

TEST_CASE("Thinning keeps the extremes and the limit") {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 5000; ++i) points.push_back({static_cast<double>(i), 10 + std::sin(i * 0.1), i});
  points[1234].y = 1;
  points[4321].y = 99;
  const std::vector<PlotPoint> kept = thinned(points, 400);
  CHECK(kept.size() <= 400);
  CHECK(kept.size() > 200);
  std::set<long> rows;
  for (const PlotPoint& point : kept) CHECK(rows.insert(point.row).second);
  for (const long row : {0L, 1234L, 4321L, 4999L}) CHECK(rows.contains(row));
  CHECK(std::is_sorted(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
  points.resize(300);
  CHECK(thinned(points, 400).size() == 300);
  points[7].y = NAN;
  CHECK(thinned(points, 400).size() == 299);
}

TEST_CASE("Text from users is escaped completely") {
  CHECK(escaped("<b a=\"1\" c='2'>&") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  CHECK(escaped("a\x1b[31m") == "a\\x1b[31m");
  CHECK(escaped("two\nlines") == "two\nlines");
  CHECK(shortened("0123456789", 5) == "0123\u2026");
  CHECK(shortened("\u00e4\u00f6\u00fc", 3) == "\u00e4\u00f6\u00fc");
  CHECK(shortened("\u00e4\u00f6\u00fc\u00df", 3) == "\u00e4\u00f6\u2026");
}

TEST_CASE("Numbers are short") {
  CHECK(coordinate(12.04) == "12");
  CHECK(coordinate(-0.04) == "0");
  CHECK(coordinate(1234.56) == "1234.6");
  CHECK(short_number(0.2500) == "0.25");
  CHECK(short_number(12.345) == "12.3");
  CHECK(short_number(1234.5) == "1234");
  CHECK(short_number(0.001234) == "0.00123");
  CHECK(short_number(NAN) == "-");
  CHECK(short_number(1e9) == "1e+09");
}

TEST_CASE("A plot is an image with a title, and hostile names stay inside of it") {
  const std::string hostile = "</text></svg><script>alert(1)</script>";
  Canvas canvas({hostile, "Says \"more\"."}, {PlotScale::categories({hostile, "b"}), hostile, 5},
                {PlotScale(ScaleKind::linear, 0, 10), "time, us", 5});
  canvas.cell(0, 5, "heat q0", hostile, "1");
  canvas.word(0, 5, hostile);
  const std::vector<PlotPoint> points{{0, 5, 7}, {1, 6, 8}};
  canvas.dots(points, "ok", 100);
  const std::string svg = canvas.svg();
  CHECK(has(svg, "<svg role=\"img\""));
  CHECK(has(svg, "<title>&lt;/text&gt;"));
  CHECK(has(svg, "<desc>Says &quot;more&quot;.</desc>"));
  CHECK_FALSE(has(svg, "<script"));
  CHECK(svg.find("</svg>") == svg.size() - 6);
  CHECK(has(svg, "data-r=\"7 8\""));
}

TEST_CASE("Marks lie between the axes") {
  Canvas canvas({"t", "d"}, {PlotScale(ScaleKind::linear, 0, 10), "x", 5},
                {PlotScale(ScaleKind::linear, 0, 10), "y", 5});
  const std::vector<PlotPoint> points{{0, 0, -1}, {10, 10, -1}};
  canvas.dots(points, "ok", 100);
  // The labels of y have two digits; 14 are free at the right, 26 above, and 40 below of 270.
  CHECK(has(canvas.svg(), "d=\"M26 230h0M446 26h0\""));
  canvas.steps(points, "best", 10, 100);
  CHECK(has(canvas.svg(), "d=\"M26 230H446V26H446\""));
}
