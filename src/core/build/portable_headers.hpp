// The headers that kernels find on every backend, such as <xtune/portable.cuh>, kept as text inside the program.
#pragma once

#include <span>
#include <string_view>

namespace xtune::build {

struct PortableHeader {
  const char* name;  ///< as an include names it
  const char* text;
  const char* sha256;
};

/// include/xtune/*.cuh, in the order of their names. Generated at configure time.
std::span<const PortableHeader> portable_headers();

/// nullptr: no such header.
inline const PortableHeader* portable_header(std::string_view name) {
  for (const PortableHeader& header : portable_headers())
    if (name == header.name) return &header;
  return nullptr;
}

}  // namespace xtune::build
