// A hash table over names and sizes, and nanoflann's k-d tree for the sum of absolute differences.
#include "core/store/shape_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <nanoflann.hpp>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "core/space/value.hpp"
#include "system/parallel.hpp"

namespace xtune::store {
namespace {

// Distances with a smaller difference count as equal; the caller decides between them by the exact formula.
constexpr double rounding = 1e-9;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) { return base::mix64(hash ^ value) + 0x9e3779b97f4a7c15; }

std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  return mixed(hash, std::hash<std::string_view>()(text));
}

void append_logs(const Bindings& problem, std::vector<double>& logs) {
  for (const auto& [name, value] : problem)
    if (const double number = space::number_of(value).value_or(0); number > 0) logs.push_back(std::log2(number));
}

bool all_finite(std::span<const double> logs) {
  return std::all_of(logs.begin(), logs.end(), [](double log) { return std::isfinite(log); });
}

/// Logarithms of sizes, as the tree reads them.
struct Points {
  std::size_t dimensions = 0;
  std::vector<double> logs;  ///< a point starts at its number * dimensions

  std::size_t kdtree_get_point_count() const { return logs.size() / dimensions; }
  double kdtree_get_pt(std::size_t point, std::size_t axis) const { return logs[point * dimensions + axis]; }
  template <class Box>
  bool kdtree_get_bbox(Box& /*box*/) const {
    return false;  // the tree finds it
  }
};
using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L1_Adaptor<double, Points>, Points, -1, std::uint32_t>;

/// Receives the results of the tree's search: the nearest points, all of them if several are equally near. The member
/// names are required by nanoflann, in all versions since 1.3.
struct NearestPoints {
  using DistanceType = double;
  using IndexType = std::uint32_t;
  double least = HUGE_VAL;
  std::vector<std::pair<double, std::uint32_t>> found;

  bool addPoint(double distance, std::uint32_t point) {
    if (distance > least + rounding) return true;
    if (distance < least - rounding) found.clear();
    least = std::min(least, distance);
    found.emplace_back(distance, point);
    return true;
  }
  double worstDist() const { return least + 2 * rounding; }
  std::size_t size() const { return found.size(); }
  bool empty() const { return found.empty(); }
  bool full() const { return !found.empty(); }
  void sort() const {}
};

}  // namespace

ShapeIndex::Asked ShapeIndex::ask(const Bindings& problem) {
  Asked asked;
  for (const auto& [name, value] : problem) {
    asked.kind = mixed(asked.kind, name);
    if (const double number = space::number_of(value).value_or(0); number > 0)
      asked.sizes = mixed(asked.sizes, std::bit_cast<std::uint64_t>(number));
    else if (const auto* text = std::get_if<std::string>(&value))
      asked.kind = mixed(asked.kind, *text);
    else
      asked.kind = mixed(mixed(asked.kind, value.index()), std::hash<Value>()(value));
  }
  asked.sizes = mixed(asked.sizes, asked.kind);
  return asked;
}

struct ShapeIndex::Kind {
  std::vector<std::uint32_t> problems;
  Points points;  ///< of problems
  std::unique_ptr<Tree> tree;
  std::vector<std::uint32_t> unsized;  ///< problems with a size that is not finite, or without any; not in the tree
};

ShapeIndex::~ShapeIndex() = default;

ShapeIndex::ShapeIndex(const std::vector<const Bindings*>& problems, unsigned threads) {
  constexpr std::size_t at_once = 1024;
  std::vector<Asked> asked(problems.size());
  std::vector<std::vector<double>> logs((problems.size() + at_once - 1) / at_once);  // of this many problems each
  std::vector<std::uint32_t> dimensions(problems.size());
  system::for_each_index(logs.size(), threads, [&](std::size_t part) {
    for (std::size_t i = part * at_once; i < std::min(problems.size(), (part + 1) * at_once); ++i) {
      const std::size_t before = logs[part].size();
      asked[i] = ask(*problems[i]);
      append_logs(*problems[i], logs[part]);
      dimensions[i] = static_cast<std::uint32_t>(logs[part].size() - before);
    }
  });
  add_slots(asked);
  Kind* kind = nullptr;
  const double* next = nullptr;
  for (std::uint32_t i = 0; i < problems.size(); ++i) {
    if (!kind || asked[i].kind != asked[i - 1].kind) {
      std::unique_ptr<Kind>& known = kinds_[asked[i].kind];
      if (!known) known = std::make_unique<Kind>();
      kind = known.get();
    }
    if (i % at_once == 0) next = logs[i / at_once].data();
    const std::span own(next, dimensions[i]);
    next += dimensions[i];
    Points& points = kind->points;
    if (kind->problems.empty()) points.dimensions = own.size();
    if (!own.empty() && own.size() == points.dimensions && all_finite(own)) {
      kind->problems.push_back(i);
      points.logs.insert(points.logs.end(), own.begin(), own.end());
    } else {
      kind->unsized.push_back(i);
    }
  }
  for (auto& [hash, one] : kinds_)
    if (!one->problems.empty())
      one->tree = std::make_unique<Tree>(static_cast<int>(one->points.dimensions), one->points);
}

void ShapeIndex::add_slots(const std::vector<Asked>& asked) {
  if (asked.empty()) return;
  slots_.resize(std::bit_ceil(asked.size() * 2));
  for (std::uint32_t i = 0; i < asked.size(); ++i) {
    std::size_t slot = slot_of(asked[i].sizes);
    while (slots_[slot].problem != none) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = {tag_of(asked[i].sizes), i};
  }
}

const std::vector<std::uint32_t>& ShapeIndex::nearest(const Asked& asked, const Bindings& problem) const {
  // Kept for the thread's next call, so that a lookup needs little memory.
  static thread_local NearestPoints nearest;
  static thread_local std::vector<double> logs;
  static thread_local std::vector<std::uint32_t> places;
  places.clear();
  const auto found = kinds_.find(asked.kind);
  if (found == kinds_.end()) return places;
  const Kind& kind = *found->second;
  logs.clear();
  append_logs(problem, logs);
  // Infinite sizes cannot be compared by arithmetic: all problems are visited.
  const bool finite = logs.size() == kind.points.dimensions && all_finite(logs);
  if (!finite) places = kind.problems;
  if (!finite || !kind.tree) places.insert(places.end(), kind.unsized.begin(), kind.unsized.end());
  if (!places.empty() || !kind.tree) return places;
  nearest.least = HUGE_VAL;
  nearest.found.clear();
  kind.tree->findNeighbors(nearest, logs.data(), {});
  for (const auto& [distance, point] : nearest.found)
    if (distance <= nearest.least + rounding) places.push_back(kind.problems[point]);
  return places;
}

}  // namespace xtune::store
