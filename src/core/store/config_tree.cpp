// Classification and regression trees (CART) with the cost of a wrong configuration in place of the usual impurity.
#include "core/store/config_tree.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <tuple>

namespace xtune::store {
namespace {

double number_of(const Value& value) { return space::number_of(value).value(); }

bool is_number(const Value& value) { return space::number_of(value).has_value(); }

bool is_at_most(const Value& a, const Value& b) {
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  return x && y ? *x <= *y : number_of(a) <= number_of(b);
}

/// a <= result < b.
Value place_between(const Value& a, const Value& b) {
  const double low = number_of(a), high = number_of(b);
  const double middle = low > 0 ? std::sqrt(low) * std::sqrt(high) : low + (high - low) / 2;
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  if (!x || !y) return middle >= low && middle < high ? Value(middle) : Value(low);
  // Beyond 2^53 the double may be rounded out of the interval.
  if (!(middle >= low) || !(middle < high)) return *x;
  return std::clamp(static_cast<std::int64_t>(std::floor(middle)), *x, *y - 1);
}

struct Cost {
  std::size_t unmeasured = 0, above = 0;
  double logarithm = 0;

  void add(double ratio, double limit) {
    if (std::isinf(ratio)) {
      ++unmeasured;
      return;
    }
    above += ratio > limit;
    logarithm += std::log(ratio);
  }
  Cost& operator+=(const Cost& other) {
    unmeasured += other.unmeasured, above += other.above, logarithm += other.logarithm;
    return *this;
  }
  friend Cost operator-(Cost a, const Cost& b) {
    a.unmeasured -= b.unmeasured, a.above -= b.above, a.logarithm -= b.logarithm;
    return a;
  }
  friend Cost operator+(Cost a, const Cost& b) { return a += b; }
  /// Sums in another order differ in their last digits.
  auto rank() const { return std::tuple(unmeasured, above, std::round(logarithm * 1e9)); }
  auto failures() const { return std::pair(unmeasured, above); }
};

using Costs = std::vector<Cost>;  ///< by configuration
using Members = std::vector<std::size_t>;

std::size_t cheapest(const Costs& costs) {
  return static_cast<std::size_t>(
      std::min_element(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.rank() < b.rank(); }) -
      costs.begin());
}

struct Split {
  std::string size;
  Value value = false;
  Members then, otherwise;
  Cost cost;
  auto rank() const {
    const std::size_t a = then.size(), b = otherwise.size();
    return std::tuple_cat(cost.rank(), std::tuple(a > b ? a - b : b - a));
  }
};

class Grower {
 public:
  Grower(const std::vector<TreeCase>& cases, double limit) : cases_(cases), limit_(limit) {
    for (const auto& [size, ignored] : *cases.front().problem)
      numbers_[size] = std::all_of(cases.begin(), cases.end(),
                                   [&, &name = size](const TreeCase& one) { return is_number(one.problem->at(name)); });
  }

  ConfigTree grow(std::size_t max_depth) {
    Members all(cases_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    add(all, max_depth);
    return std::move(tree_);
  }

 private:
  Costs costs_of(const Members& members) const {
    Costs costs(cases_.front().ratios.size());
    for (const std::size_t i : members)
      for (std::size_t config = 0; config < costs.size(); ++config) costs[config].add(cases_[i].ratios[config], limit_);
    return costs;
  }

  /// Adds a node with its successors; returns its cost.
  Cost add(const Members& members, std::size_t depth) {
    const Costs costs = costs_of(members);
    const std::size_t config = cheapest(costs), node = tree_.size();
    tree_.push_back({});
    tree_[node].config = config;
    const Cost& leaf = costs[config];
    if (depth == 0 || leaf.failures() == std::pair<std::size_t, std::size_t>()) return leaf;
    const std::optional<Split> split = best_split(members, costs);
    if (!split) return leaf;
    const std::size_t then = tree_.size();
    Cost cost = add(split->then, depth - 1);
    const std::size_t otherwise = tree_.size();
    cost += add(split->otherwise, depth - 1);
    if (cost.failures() >= leaf.failures()) {
      tree_.resize(node + 1);
      return leaf;
    }
    tree_[node] = {split->size, split->value, then, otherwise, 0};
    return cost;
  }

  std::optional<Split> best_split(const Members& members, const Costs& all) const {
    std::optional<Split> best;
    for (const auto& [size, numbers] : numbers_) {
      const auto value_of = [&, &name = size](std::size_t i) -> const Value& { return cases_[i].problem->at(name); };
      const bool are_numbers = numbers;
      Members sorted = members;
      std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
        if (are_numbers) return !is_at_most(value_of(b), value_of(a));
        return std::pair(value_of(a).index(), to_text(value_of(a))) <
               std::pair(value_of(b).index(), to_text(value_of(b)));
      });
      const auto same = [&](std::size_t a, std::size_t b) {
        return are_numbers ? is_at_most(value_of(b), value_of(a)) : value_of(a) == value_of(b);
      };
      Costs before(all.size());  // of the cases up to `end`; for words, of the last group only
      for (std::size_t begin = 0, end = 0; end < sorted.size(); begin = end) {
        for (; end < sorted.size() && same(sorted[begin], sorted[end]); ++end)
          for (std::size_t config = 0; config < all.size(); ++config)
            before[config].add(cases_[sorted[end]].ratios[config], limit_);
        if (end - begin == sorted.size() || (are_numbers && end == sorted.size())) break;
        Costs after(all.size());
        for (std::size_t config = 0; config < all.size(); ++config) after[config] = all[config] - before[config];
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(end);
        Split split{size, value_of(sorted[begin]), {}, {}, before[cheapest(before)] + after[cheapest(after)]};
        if (are_numbers) {
          split.value = place_between(value_of(sorted[begin]), value_of(sorted[end]));
          split.then.assign(sorted.begin(), middle);
        } else {
          split.then.assign(sorted.begin() + static_cast<std::ptrdiff_t>(begin), middle);
          split.otherwise.assign(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(begin));
          before.assign(all.size(), {});
        }
        split.otherwise.insert(split.otherwise.end(), middle, sorted.end());
        if (!best || split.rank() < best->rank()) best = std::move(split);
      }
    }
    return best;
  }

  const std::vector<TreeCase>& cases_;
  const double limit_;
  std::map<std::string, bool> numbers_;  ///< by size: whether all its values are numbers
  ConfigTree tree_;
};

}  // namespace

bool asks_equality(const TreeNode& node) { return !is_number(node.value); }

std::size_t choose(const ConfigTree& tree, const Bindings& problem) {
  const TreeNode* node = &tree.front();
  while (!node->size.empty()) {
    const Value& value = problem.at(node->size);
    const bool holds = asks_equality(*node) ? value == node->value : is_number(value) && is_at_most(value, node->value);
    node = &tree[holds ? node->then : node->otherwise];
  }
  return node->config;
}

ConfigTree grow_tree(const std::vector<TreeCase>& cases, double limit, std::size_t max_depth) {
  return Grower(cases, limit).grow(max_depth);
}

}  // namespace xtune::store
