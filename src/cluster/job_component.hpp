// One type of GPU of a batch job: the nodes that have it, and their number.
#pragma once

#include <string>

namespace xtune::cluster {

/// Nodes of one GPU type: a component of a heterogeneous job if there are several.
struct JobComponent {
  std::string arch;  ///< architecture to compile for before the job; empty: compile during the job
  int nodes = 1;
  int gpus_per_node = 0;  ///< and processes; 0: one process per node, without a GPU
  std::string gres, constraint, partition;
};

/// "sm_90a:nodes=2,gpus-per-node=4,gres=gpu:h100:4,constraint=h100,partition=gh"; the architecture and every key are
/// optional. Throws Error(invalid_argument).
JobComponent parse_component(const std::string& text);

}  // namespace xtune::cluster
