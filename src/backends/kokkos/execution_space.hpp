// Kokkos' execution spaces: what a Kokkos has, which one is tuned for, and what code for it runs on.
#pragma once

#include <string>
#include <vector>

#include "backends/kokkos/installation.hpp"

namespace xtune::kokkos {

struct ExecutionSpace {
  std::string name;     ///< "Serial", "OpenMP", "Threads", "Cuda", "HIP"
  std::string type;     ///< in C++: "Kokkos::OpenMP"
  std::string backend;  ///< whose devices it runs on: "host", "cuda", "hip"
  bool is_gpu = false;
  int threads = 1;  ///< CPUs: how many it is started with
};

/// Their names, of those that xtune knows: "Cuda", "OpenMP", "Serial".
std::vector<std::string> space_names(const Installation& kokkos);
/// The one that XTUNE_KOKKOS_SPACE names; without it the first of Cuda, HIP, OpenMP, Threads and Serial that there is.
/// OpenMP and Threads start KOKKOS_NUM_THREADS threads, else OMP_NUM_THREADS, else one for each usable CPU. Throws
/// Error(unavailable) when this Kokkos was built without it, Error(unsupported) when xtune knows none of its spaces,
/// Error(invalid_argument) for a number of threads that is none.
ExecutionSpace choose_space(const Installation& kokkos);
/// What units are compiled for: "sm_90" or "gfx90a" as Kokkos' own flags say, the CPU's level otherwise. Throws
/// Error(unavailable) when the flags for a GPU name none.
std::string arch_of(const Installation& kokkos, const ExecutionSpace& space);

}  // namespace xtune::kokkos
