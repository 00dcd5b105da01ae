// One type of GPU of a batch job: which nodes have it, and how many of them.
#pragma once

#include <string>

namespace xtune::cluster {

/// Nodes of one GPU type: a component of a heterogeneous job where there are several.
struct JobComponent {
  std::string arch;  ///< to compile for before the job; empty: compiled as it goes
  int nodes = 1;
  int gpus_per_node = 0;  ///< and processes; 0: one process a node, no GPU
  std::string gres, constraint, partition;
};

/// "sm_90a:nodes=2,gpus-per-node=4,gres=gpu:h100:4,constraint=h100,partition=gh"; the architecture and every key may be
/// left out. Throws Error(invalid_argument).
JobComponent parse_component(const std::string& text);

}  // namespace xtune::cluster
