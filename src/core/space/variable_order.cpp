// Chooses the order in which the parameters of a group get their values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/space/residual.hpp"

namespace xtune::space {

namespace {

using Node = ConstraintTree::Node;

/// Estimates how many states a set of bound parameters leaves.
class StateEstimate {
 public:
  StateEstimate(const std::vector<ConstraintTree>& trees, const std::vector<Parameter>& parameters)
      : trees_(trees), parameters_(parameters), bound_(parameters.size(), false) {}

  void set(std::uint32_t member, bool bound) { bound_[member] = bound; }

  /// Binary logarithm of the number of values that the stored parts can have together.
  double log_states() const {
    double sum = 0;
    for (const ConstraintTree& tree : trees_) {
      const Part root = part(tree, tree.root);
      if (!root.bound) sum += root.log_values;
    }
    return sum;
  }

 private:
  struct Part {
    bool bound;
    double log_values;  ///< bound: of the part; else the sum over its bound parts
  };

  Part part(const ConstraintTree& tree, std::uint32_t at) const {
    const Node& node = tree.nodes[at];
    if (node.kind == ConstraintTree::Kind::constant) return {true, 0};
    if (node.kind == ConstraintTree::Kind::parameter) {
      const bool bound = bound_[node.member];
      return {bound, bound ? std::log2(static_cast<double>(parameters_[node.member].values.size())) : 0};
    }
    Part whole{true, 0};
    for (const std::uint32_t child : node.children) {
      const Part below = part(tree, child);
      whole.bound = whole.bound && below.bound;
      whole.log_values += below.log_values;
    }
    const bool is_logical = node.kind == ConstraintTree::Kind::both || node.kind == ConstraintTree::Kind::any ||
                            node.instruction.opcode == expr::Opcode::compare ||
                            node.instruction.opcode == expr::Opcode::contains ||
                            node.instruction.opcode == expr::Opcode::logical_not;
    if (whole.bound && is_logical) whole.log_values = std::min(whole.log_values, 1.0);
    return whole;
  }

  const std::vector<ConstraintTree>& trees_;
  const std::vector<Parameter>& parameters_;
  std::vector<bool> bound_;
};

}  // namespace

std::vector<std::uint32_t> narrow_order(const std::vector<ConstraintTree>& trees,
                                        const std::vector<Parameter>& parameters,
                                        const std::vector<std::uint32_t>& members) {
  StateEstimate estimate(trees, parameters);
  std::vector<std::uint32_t> order, left = members;
  while (!left.empty()) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t choice = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      estimate.set(left[i], true);
      if (const double states = estimate.log_states(); states < least) {
        least = states;
        choice = i;
      }
      estimate.set(left[i], false);
    }
    estimate.set(left[choice], true);
    order.push_back(left[choice]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(choice));
  }
  return order;
}

}  // namespace xtune::space
