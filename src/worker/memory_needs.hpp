// The memory that a problem needs in its bench worker, computed before any of it is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/protocol.hpp"

namespace xtune::worker {

/// Bytes. On a CPU both use the same memory.
struct MemoryNeeds {
  std::uint64_t host = 0;    ///< inputs and expected outputs to compare with, and outputs that are read back
  std::uint64_t device = 0;  ///< buffers with guard zones, copies for comparison on the device, flushed memory
};

/// sets: number of buffer sets. zone_bytes: of the guard zones before and after each buffer.
MemoryNeeds memory_needs(const ipc::OpenJob& job, std::size_t sets, std::size_t zone_bytes, std::size_t flush_bytes);

/// Bytes of one set of buffers.
std::uint64_t set_bytes(const ipc::OpenJob& job, std::size_t zone_bytes);

/// Available memory in bytes. 0: unknown.
struct MemoryFound {
  std::uint64_t host = 0, device = 0;
  bool shared = false;  ///< the device is a CPU: `device` is ignored
};

/// Throws Error(unavailable) that opens with the largest argument's place in the spec, with the memory that is needed
/// and available.
void require_memory(const ipc::OpenJob& job, const MemoryNeeds& needs, const MemoryFound& found);

}  // namespace xtune::worker
