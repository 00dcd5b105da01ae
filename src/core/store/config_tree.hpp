// A decision tree over problem sizes that chooses among a few configurations.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// A leaf, or a question about one size: numbers are compared with <=, words and booleans with ==.
struct TreeNode {
  std::string size;  ///< name of the size; empty: a leaf
  Value value = false;
  std::size_t then = 0, otherwise = 0;  ///< nodes
  std::size_t config = 0;               ///< of a leaf
};
/// The first node is the root. A node's successors come after it.
using ConfigTree = std::vector<TreeNode>;

/// The configuration for a problem, which has all sizes that the tree asks for.
std::size_t choose(const ConfigTree& tree, const Bindings& problem);
/// Whether a node's question is answered by ==.
bool asks_equality(const TreeNode& node);

struct TreeCase {
  const Bindings* problem = nullptr;
  std::vector<double> ratios;  ///< by configuration: time divided by the best time of the case; infinite: not measured
};

/// Grows a tree for these cases, which all have the same names of sizes, and at least one configuration.
///
/// A leaf takes the configuration with the fewest unmeasured cases, then the fewest cases above `limit` (1.05 for five
/// percent), then the smallest product of ratios. A node whose leaf has such cases is split greedily: of all sizes and
/// of all places between neighbouring values, the split with the best sum of both leaves, then the most even one. The
/// place between a and b is the middle of their logarithms, since the effect of a size grows with its ratio. Splits
/// that save no case are removed afterwards, from the leaves to the root. Ties are resolved by the order of names,
/// values and configurations, so equal cases always give the same tree.
ConfigTree grow_tree(const std::vector<TreeCase>& cases, double limit, std::size_t max_depth);

}  // namespace xtune::store
