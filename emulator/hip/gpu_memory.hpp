// The memory of the emulated GPU: blocks of the host's memory, which kernels and copies may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "emulator/memory.hpp"

namespace xtune::emulator {

/// Not thread-safe. Addresses are the host's.
class GpuMemory {
 public:
  struct Block {
    std::uint64_t base = 0;
    std::size_t bytes = 0;
  };
  GpuMemory() = default;
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  /// At least one byte, at a multiple of 256. nullptr: the host has not as much memory.
  void* allocate(std::size_t bytes);
  /// Whether a block begins there.
  bool free(void* address);
  /// What a kernel's fault calls a part of a block: "argument 'x'".
  void name(const void* address, std::size_t bytes, const char* name) { memory_.name(address, bytes, name); }
  /// Memory that copies may access until remove: variables of a code object.
  void add_variable(void* address, std::size_t bytes);
  void remove_variables(const void* begin, const void* end);

  /// The block or variable that has these bytes; bytes is 0 if there is none.
  Block find(const void* address, std::size_t bytes) const;
  /// What kernels may access.
  const Memory& for_kernels() const noexcept { return memory_; }

 private:
  std::map<std::uint64_t, std::size_t> blocks_, variables_;  ///< by address
  Memory memory_;
};

}  // namespace xtune::emulator
