// Kokkos' execution spaces: those of an installation, the one to tune for, and the architecture of its code.
#pragma once

#include <string>
#include <vector>

#include "backends/kokkos/installation.hpp"

namespace xtune::kokkos {

struct ExecutionSpace {
  std::string name;     ///< "Serial", "OpenMP", "Threads", "Cuda", "HIP"
  std::string type;     ///< in C++: "Kokkos::OpenMP"
  std::string backend;  ///< backend of its devices: "host", "cuda", "hip"
  bool is_gpu = false;
  int threads = 1;  ///< CPUs: number of threads to start with
};

/// Their names, of those that xtune supports: "Cuda", "OpenMP", "Serial".
std::vector<std::string> space_names(const Installation& kokkos);
/// The one that XTUNE_KOKKOS_SPACE names; without it the first available one of Cuda, HIP, OpenMP, Threads and Serial.
/// OpenMP and Threads start KOKKOS_NUM_THREADS threads, else OMP_NUM_THREADS, else one for each usable CPU. Throws
/// Error(unavailable) if this Kokkos was built without it, Error(unsupported) if xtune supports none of its spaces,
/// Error(invalid_argument) for an invalid number of threads.
ExecutionSpace choose_space(const Installation& kokkos);
/// The architecture that units are compiled for: "sm_90" or "gfx90a" from Kokkos' own flags, else the CPU's level.
/// Throws Error(unavailable) if the flags for a GPU contain none.
std::string arch_of(const Installation& kokkos, const ExecutionSpace& space);

}  // namespace xtune::kokkos
