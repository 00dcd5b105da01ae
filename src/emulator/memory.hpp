// The global memory of the emulator: allocations of the host that kernels may access, by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xtune::emulator {

/// The allocations are owned by the caller. Several threads may look up addresses at the same time.
class Memory {
 public:
  /// Throws Error(invalid_argument) if the allocation overlaps another one.
  void add(void* base, std::size_t bytes);
  /// Nothing happens if no allocation begins there.
  void remove(const void* base);
  /// The bytes at an address, or nullptr if they are not inside one allocation.
  std::byte* find(std::uint64_t address, std::size_t bytes) const noexcept;

 private:
  struct Allocation {
    std::uint64_t base, bytes;
  };
  std::vector<Allocation> allocations_;  // ascending
};

}  // namespace xtune::emulator
