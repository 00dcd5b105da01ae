// Scales of plots: where a value lies on an axis, and at which round values the axis has ticks.
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
  /// From low to high as given; equal or infinite ends are moved apart. A logarithmic scale needs positive ends, else
  /// it is linear.
  PlotScale(ScaleKind kind, double low, double high);
  /// The values 0, 1, 2 ... are in the middle of equal parts, with these labels.
  static PlotScale categories(std::vector<std::string> labels);
  /// Holds all finite values: logarithmic where they are positive and the largest is at least eight times the smallest,
  /// else linear. Linear ends are round values. from_zero: linear and from 0.
  static PlotScale fitting(std::span<const double> values, bool from_zero = false);

  ScaleKind kind() const noexcept { return kind_; }
  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }
  /// Values outside of the ends count as the ends.
  double at(double value) const;
  /// About `wanted` round values from low to high. Of categories: as many as have room when each has `wanted` places.
  std::vector<Tick> ticks(std::size_t wanted) const;

 private:
  ScaleKind kind_;
  double low_, high_;
  std::vector<std::string> labels_;
};

/// The round number (1, 2 or 5 times a power of ten) that is next above: steps between ticks.
double round_step(double least);

/// What a series of times is shown in: "us", and what turns milliseconds into it.
struct TimeUnit {
  const char* name = "ms";
  double per_ms = 1;
};
TimeUnit time_unit(double typical_ms);

}  // namespace xtune::plot
