// Where the shared memory of a block lies: its dynamic part, and the thread-local variables of the kernel's library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

struct ByteRange {
  const std::byte* begin;
  std::size_t bytes;
  bool meets(const ByteRange& other) const noexcept {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

struct SharedWindow {
  std::byte *dynamic = nullptr, *variables = nullptr;
  std::size_t dynamic_bytes = 0, variable_bytes = 0;
  bool knows_variables = true;  ///< otherwise variables may be anywhere, as a sanitized kernel's are

  bool contains(const void* address, std::size_t bytes) const noexcept;
  /// The same place in another block of the cluster; nullptr: it is not in this window.
  std::byte* of(const SharedWindow& other, const void* address) const noexcept;
};

/// Of the calling thread, after kernel.begin_block().
SharedWindow shared_window(const XtuneKernel& kernel, void* dynamic, std::size_t dynamic_bytes, bool sanitized);

/// A place in a block of the cluster as 32 bits; 0: it has none. Places may be computed with, within a variable.
std::uint32_t remote_address(const SharedWindow& own, const void* address, unsigned rank) noexcept;
struct RemotePlace {
  unsigned rank;
  bool is_dynamic;
  std::size_t offset;
};
RemotePlace remote_place(std::uint32_t address) noexcept;

}  // namespace xtune::host
