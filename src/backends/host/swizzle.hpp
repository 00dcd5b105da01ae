// Swizzled addresses: where parts of 16 bytes lie in shared memory after their exchange against bank conflicts. Source:
// CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Swizzling Modes".
#pragma once

#include <cstddef>
#include <cstdint>

namespace xtune::host {

/// Bytes of a part.
constexpr unsigned swizzle_unit = 16;

/// `swizzle`: bytes, 0 (none), 32, 64 or 128. Eight rows of this length make a pattern, which repeats.
constexpr std::size_t swizzle_period(unsigned swizzle) {
  return swizzle == 0 ? swizzle_unit : std::size_t{8} * swizzle;
}

/// The address with bits 4 to 6 (128), 4 and 5 (64) or 4 (32) combined by xor with the bits from 7 on.
template <class T>
T* swizzled(T* address, unsigned swizzle) {
  auto bits = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t mask = swizzle == 0 ? 0 : swizzle / swizzle_unit - 1;
  bits ^= (bits >> 7 & mask) << 4;
  return reinterpret_cast<T*>(bits);  // NOLINT(performance-no-int-to-ptr): some bits of a pointer were changed
}

}  // namespace xtune::host
