// Headers that kernels find with each compiler, kept as text inside the program: xtune's own, such as
// <xtune/portable.cuh>, and stand-ins for headers that a compiler lacks.
#pragma once

#include <span>
#include <string_view>

namespace xtune::build {

enum class HeaderSet {
  xtune,    ///< for all
  library,  ///< of the C and C++ libraries, for NVRTC and hipRTC: <cstdint>, <limits>
  groups,   ///< CUDA's cooperative groups, for AMD GPUs and the host
  hip,      ///< of CUDA, for AMD GPUs: <cuda_runtime.h>
  types,    ///< of the vendors' runtimes, for all
};

struct PortableHeader {
  const char* name;  ///< as an include names it
  const char* text;
  const char* sha256;
  HeaderSet set;
};

/// runtime/xtune/*.cuh, in the order of their names. Generated at configure time.
std::span<const PortableHeader> portable_headers();
/// standins/*, of all other sets. Generated at configure time.
std::span<const PortableHeader> standin_headers();

/// nullptr: no such header.
inline const PortableHeader* find_header(std::span<const PortableHeader> headers, std::string_view name) {
  for (const PortableHeader& header : headers)
    if (name == header.name) return &header;
  return nullptr;
}

}  // namespace xtune::build
