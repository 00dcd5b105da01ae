// Names of execution spaces.
#include "tools/kokkos/abi.hpp"

#include <array>

namespace xtune::kokkos_tools::abi {

const char* space_name(std::uint32_t device) {
  static constexpr std::array names{"Serial", "OpenMP",  "Cuda", "HIP",    "OpenMPTarget",
                                    "HPX",    "Threads", "SYCL", "OpenACC"};
  const std::uint32_t kind = space_kind(device);
  return kind < names.size() ? names[kind] : "unknown";
}

}  // namespace xtune::kokkos_tools::abi
