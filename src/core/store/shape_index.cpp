// A hash table over names and sizes, and a k-d tree for the sum of absolute differences.
#include "core/store/shape_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "core/space/value.hpp"

namespace xtune::store {
namespace {

// Distances that differ by less are taken for equal; whoever asks decides between them by the exact formula.
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

// Cuts ranges of points in the middle of their widest side.
struct ShapeIndex::Build {
  struct Range {
    std::size_t node, begin, end;
  };
  using Key = std::pair<double, std::uint32_t>;

  Kind& kind;
  std::vector<std::uint32_t> order;  ///< of the points

  double log(std::uint32_t point, std::size_t axis) const { return kind.logs[point * kind.dimensions + axis]; }

  std::uint32_t widest_axis(const Range& range) const {
    std::uint32_t widest = 0;
    double most = -1;
    for (std::uint32_t axis = 0; axis < kind.dimensions; ++axis) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        low = std::min(low, log(order[i], axis));
        high = std::max(high, log(order[i], axis));
      }
      if (high - low > most) most = high - low, widest = axis;
    }
    return widest;
  }

  // Cuts down to leaves; above `deepest` only, where what is left goes to `rest`.
  void cut(const Range& range, std::size_t deepest, std::vector<Range>& rest, std::vector<Key>& keys) {
    if (range.end - range.begin <= leaf || kind.dimensions == 0) return;
    if (range.node >= deepest) return rest.push_back(range);
    const std::uint32_t axis = widest_axis(range);
    keys.clear();
    for (std::size_t i = range.begin; i < range.end; ++i) keys.emplace_back(log(order[i], axis), order[i]);
    const std::size_t middle = (range.begin + range.end) / 2;
    const auto cut_at = keys.begin() + static_cast<std::ptrdiff_t>(middle - range.begin);
    std::nth_element(keys.begin(), cut_at, keys.end(), [](const Key& a, const Key& b) { return a.first < b.first; });
    for (std::size_t i = range.begin; i < range.end; ++i) order[i] = keys[i - range.begin].second;
    kind.cuts[range.node] = {cut_at->first, axis};
    cut({2 * range.node, range.begin, middle}, deepest, rest, keys);
    cut({2 * range.node + 1, middle, range.end}, deepest, rest, keys);
  }

  void run(unsigned threads) {
    constexpr std::size_t worth_a_thread = 4096;
    const std::size_t count = kind.problems.size();
    order.resize(count);
    std::iota(order.begin(), order.end(), 0U);
    std::size_t cuts = 1;
    for (std::size_t points = count; points > leaf; points = (points + 1) / 2) cuts *= 2;
    kind.cuts.resize(cuts);
    std::vector<Range> rest;
    std::vector<Key> keys;
    cut({1, 0, count}, count < worth_a_thread ? SIZE_MAX : 8, rest, keys);
    base::for_each_index(rest.size(), threads, [&](std::size_t i) {
      std::vector<Range> nothing;
      std::vector<Key> own;
      cut(rest[i], SIZE_MAX, nothing, own);
    });
    std::vector<std::uint32_t> problems(count);
    std::vector<double> logs(kind.logs.size());
    for (std::size_t i = 0; i < count; ++i) {
      problems[i] = kind.problems[order[i]];
      for (std::size_t axis = 0; axis < kind.dimensions; ++axis) logs[i * kind.dimensions + axis] = log(order[i], axis);
    }
    kind.problems = std::move(problems);
    kind.logs = std::move(logs);
  }
};

ShapeIndex::ShapeIndex(const std::vector<const Bindings*>& problems, unsigned threads) {
  constexpr std::size_t at_once = 1024;
  std::vector<Asked> asked(problems.size());
  std::vector<std::vector<double>> logs((problems.size() + at_once - 1) / at_once);  // of so many problems each
  std::vector<std::uint32_t> dimensions(problems.size());
  base::for_each_index(logs.size(), threads, [&](std::size_t part) {
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
    if (!kind || asked[i].kind != asked[i - 1].kind) kind = &kinds_[asked[i].kind];
    if (i % at_once == 0) next = logs[i / at_once].data();
    const std::span own(next, dimensions[i]);
    next += dimensions[i];
    if (kind->problems.empty()) kind->dimensions = own.size();
    if (own.size() == kind->dimensions && all_finite(own)) {
      kind->problems.push_back(i);
      kind->logs.insert(kind->logs.end(), own.begin(), own.end());
    } else {
      kind->endless.push_back(i);
    }
  }
  for (auto& [hash, one] : kinds_) Build{one, {}}.run(threads);
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

struct ShapeIndex::Search {
  std::vector<double> asked;
  std::vector<double> aside;  ///< on each axis, how far the range that is looked at is away at least
  double least = HUGE_VAL;
  std::vector<std::pair<double, std::uint32_t>> found;
};

void ShapeIndex::search(const Kind& kind, std::size_t node, std::size_t begin, std::size_t end, double bound,
                        Search& state) {
  if (end - begin <= leaf || kind.dimensions == 0) {
    const double* logs = kind.logs.data() + begin * kind.dimensions;
    for (std::size_t i = begin; i < end; ++i) {
      double distance = 0;
      for (const double asked : state.asked) distance += std::abs(asked - *logs++);
      if (distance > state.least + rounding) continue;
      if (distance < state.least - rounding) state.found.clear();
      state.least = std::min(state.least, distance);
      state.found.emplace_back(distance, kind.problems[i]);
    }
    return;
  }
  const std::size_t middle = (begin + end) / 2;
  const Cut& cut = kind.cuts[node];
  const double beyond = state.asked[cut.axis] - cut.at;
  const auto branch = [&](bool left, double at_least) {
    left ? search(kind, 2 * node, begin, middle, at_least, state)
         : search(kind, 2 * node + 1, middle, end, at_least, state);
  };
  branch(beyond < 0, bound);
  double& aside = state.aside[cut.axis];
  const double before = std::exchange(aside, std::max(aside, std::abs(beyond)));
  if (const double further = bound - before + aside; further <= state.least + rounding) branch(!(beyond < 0), further);
  aside = before;
}

const std::vector<std::uint32_t>& ShapeIndex::nearest(const Asked& asked, const Bindings& problem) const {
  // Kept for the thread's next question, so that answers need no memory of their own.
  static thread_local Search state;
  static thread_local std::vector<std::uint32_t> places;
  places.clear();
  const auto found = kinds_.find(asked.kind);
  if (found == kinds_.end()) return places;
  const Kind& kind = found->second;
  state.asked.clear();
  append_logs(problem, state.asked);
  // Plain arithmetic tells nothing of endless sizes: all are looked at.
  const bool finite = state.asked.size() == kind.dimensions && all_finite(state.asked);
  if (!finite) places = kind.problems;
  if (!finite || kind.problems.empty()) places.insert(places.end(), kind.endless.begin(), kind.endless.end());
  if (!places.empty() || kind.problems.empty()) return places;
  state.aside.assign(kind.dimensions, 0);
  state.least = HUGE_VAL;
  state.found.clear();
  search(kind, 1, 0, kind.problems.size(), 0, state);
  for (const auto& [distance, place] : state.found)
    if (distance <= state.least + rounding) places.push_back(place);
  return places;
}

}  // namespace xtune::store
