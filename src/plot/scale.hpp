// Scales of plots: the position of a value on an axis, and the round values for its ticks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace xtune::plot {

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

}  // namespace xtune::plot
