// Keeps the extremes of each range.
#include "plot/thinning.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace xtune::plot {

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

}  // namespace xtune::plot
