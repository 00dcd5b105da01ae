// How much memory a problem takes in its bench worker, found out before any of it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/protocol.hpp"

namespace xtune::worker {

/// Bytes. On a CPU both come out of the same memory.
struct MemoryNeeds {
  std::uint64_t host = 0;    ///< inputs and expected outputs to compare with, and outputs that are read back
  std::uint64_t device = 0;  ///< buffers with their guard zones, copies to compare with on the device, what is flushed
};

/// sets: of buffers. zone_bytes: of the guard zones before and after each buffer.
MemoryNeeds memory_needs(const ipc::OpenJob& job, std::size_t sets, std::size_t zone_bytes, std::size_t flush_bytes);

/// Of one set of buffers.
std::uint64_t set_bytes(const ipc::OpenJob& job, std::size_t zone_bytes);

/// What there is. 0: not known.
struct MemoryFound {
  std::uint64_t host = 0, device = 0;
  bool shared = false;  ///< the device is a CPU: `device` is not looked at
};

/// Throws Error(unavailable) that opens with the largest argument's place in the spec, and says how much is needed and
/// how much there is.
void require_memory(const ipc::OpenJob& job, const MemoryNeeds& needs, const MemoryFound& found);

}  // namespace xtune::worker
