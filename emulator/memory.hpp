// The global memory of the emulator: allocations of the host that kernels may access, by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xtune::emulator {

/// The allocations are owned by the caller. Several threads may look up addresses at the same time.
class Memory {
 public:
  struct Allocation {
    std::uint64_t base = 0, bytes = 0;
    bool of_launcher = false;
  };
  /// Throws Error(invalid_argument) if the allocation overlaps another one. of_launcher: the kernel's author does not
  /// know it, so no message names it.
  void add(void* base, std::size_t bytes, bool of_launcher = false);
  /// With the names in it. False, and nothing happens, if no allocation begins there.
  bool remove(const void* base);
  /// What messages call a part of an allocation: "argument 'x'".
  void name(const void* base, std::size_t bytes, const std::string& name);
  /// The allocation that has these bytes, or nullptr.
  const Allocation* holder(std::uint64_t address, std::size_t bytes) const noexcept;
  /// The bytes at an address, or nullptr if they are not inside one allocation.
  std::byte* find(std::uint64_t address, std::size_t bytes) const noexcept;
  /// Where bytes are that are not inside one allocation: "4 bytes after the end of argument 'x' (1024 bytes)"; empty if
  /// nothing is near.
  std::string beside(std::uint64_t address, std::size_t bytes) const;

 private:
  struct Named {
    std::uint64_t base, bytes;
    std::string name;
  };
  std::vector<Allocation> allocations_;  // ascending
  std::vector<Named> named_;
};

}  // namespace xtune::emulator
