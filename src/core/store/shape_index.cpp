// A hash over names and sizes, and a k-d tree for the sum of absolute differences.
#include "core/store/shape_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace xtune {
namespace {

// Distances that differ by less are taken for equal; whoever asks decides between them by the exact formula.
constexpr double rounding = 1e-9;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccd;
}

std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  return mixed(hash, std::hash<std::string_view>()(text));
}

double number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return 0;
}

struct Hashes {
  std::uint64_t kind = 0, sizes = 0;
};

// Calls size(log2) for each positive number.
template <class Size>
Hashes hashes_of(const Bindings& problem, const Size& size) {
  Hashes hashes;
  for (const auto& [name, value] : problem) {
    hashes.kind = mixed(hashes.kind, name);
    const double number = number_of(value);
    if (number > 0) {
      size(number);
      hashes.sizes = mixed(hashes.sizes, std::bit_cast<std::uint64_t>(number));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      hashes.kind = mixed(hashes.kind, *text);
    } else {
      hashes.kind = mixed(mixed(hashes.kind, value.index()), std::hash<Value>()(value));
    }
  }
  hashes.sizes = mixed(hashes.sizes, hashes.kind);
  return hashes;
}

}  // namespace

ShapeIndex::ShapeIndex(const std::vector<const Bindings*>& problems) {
  struct Points {
    std::vector<std::uint32_t> problems;
    std::vector<double> logs;
  };
  std::unordered_map<std::uint64_t, Points> points;
  for (std::uint32_t i = 0; i < problems.size(); ++i) {
    std::vector<double> logs;
    const Hashes hashes = hashes_of(*problems[i], [&](double size) { logs.push_back(std::log2(size)); });
    by_sizes_[hashes.sizes].push_back(i);
    Points& of_kind = points[hashes.kind];
    of_kind.problems.push_back(i);
    of_kind.logs.insert(of_kind.logs.end(), logs.begin(), logs.end());
  }
  for (auto& [hash, of_kind] : points) {
    Kind& kind = kinds_[hash];
    const std::size_t count = of_kind.problems.size();
    kind.dimensions = of_kind.logs.size() / count;
    kind.logs = of_kind.logs;
    kind.axes.resize(count);
    std::vector<std::uint32_t> order(count);
    for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
    if (kind.dimensions > 0) build(kind, order, 0, count);
    for (std::size_t i = 0; i < count; ++i) {
      kind.problems.push_back(of_kind.problems[order[i]]);
      std::copy_n(of_kind.logs.begin() + static_cast<std::ptrdiff_t>(order[i] * kind.dimensions), kind.dimensions,
                  kind.logs.begin() + static_cast<std::ptrdiff_t>(i * kind.dimensions));
    }
  }
}

void ShapeIndex::build(Kind& kind, std::vector<std::uint32_t>& order, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return;
  const auto log = [&](std::uint32_t point, std::size_t axis) { return kind.logs[point * kind.dimensions + axis]; };
  std::size_t widest = 0;
  double most = -1;
  for (std::size_t axis = 0; axis < kind.dimensions; ++axis) {
    double low = log(order[begin], axis), high = low;
    for (std::size_t i = begin; i < end; ++i) {
      low = std::min(low, log(order[i], axis));
      high = std::max(high, log(order[i], axis));
    }
    if (high - low > most) most = high - low, widest = axis;
  }
  const std::size_t middle = (begin + end) / 2;
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(middle), at(end),
                   [&](std::uint32_t a, std::uint32_t b) { return log(a, widest) < log(b, widest); });
  kind.axes[middle] = static_cast<std::uint32_t>(widest);
  build(kind, order, begin, middle);
  build(kind, order, middle + 1, end);
}

struct ShapeIndex::Search {
  std::vector<double> asked;
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, std::uint32_t>> found;
};

void ShapeIndex::search(const Kind& kind, std::size_t begin, std::size_t end, Search& state) {
  if (begin == end) return;
  const std::size_t middle = (begin + end) / 2;
  const double* const logs = kind.logs.data() + middle * kind.dimensions;
  double distance = 0;
  for (std::size_t axis = 0; axis < kind.dimensions; ++axis) distance += std::abs(state.asked[axis] - logs[axis]);
  if (distance <= state.least + rounding) {
    state.least = std::min(state.least, distance);
    state.found.emplace_back(distance, kind.problems[middle]);
  }
  const double beyond = kind.dimensions ? state.asked[kind.axes[middle]] - logs[kind.axes[middle]] : 0;
  const auto branch = [&](bool left) {
    left ? search(kind, begin, middle, state) : search(kind, middle + 1, end, state);
  };
  branch(beyond < 0);
  if (std::abs(beyond) <= state.least + rounding) branch(!(beyond < 0));
}

const std::vector<std::uint32_t>& ShapeIndex::same(const Bindings& problem) const {
  static const std::vector<std::uint32_t> none;
  const auto found = by_sizes_.find(hashes_of(problem, [](double) {}).sizes);
  return found == by_sizes_.end() ? none : found->second;
}

std::vector<std::uint32_t> ShapeIndex::nearest(const Bindings& problem) const {
  Search state;
  const Hashes hashes = hashes_of(problem, [&](double size) { state.asked.push_back(std::log2(size)); });
  const auto kind = kinds_.find(hashes.kind);
  std::vector<std::uint32_t> nearest;
  if (kind == kinds_.end() || kind->second.dimensions != state.asked.size()) return nearest;
  search(kind->second, 0, kind->second.problems.size(), state);
  for (const auto& [distance, place] : state.found)
    if (distance <= state.least + rounding) nearest.push_back(place);
  std::sort(nearest.begin(), nearest.end());
  return nearest;
}

}  // namespace xtune
