// Evicts memory from the CPU's caches, by its addresses.
#pragma once

#include <cstddef>
#include <span>

namespace xtune::host {

/// Whether programs on this architecture can evict lines of memory by their addresses.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool can_evict_lines = true;
#else
inline constexpr bool can_evict_lines = false;
#endif

/// Writes the lines of this memory back, and removes them from the caches of all cores. Takes about as long as reading
/// the memory once. It must be readable. Does nothing without can_evict_lines.
void evict_lines(std::span<const std::byte> memory) noexcept;

/// Empties the translation caches of all cores, where that is possible: on x86-64. Takes about ten microseconds.
void drop_translations() noexcept;

/// Overwrites one byte of each line, which leaves an unknown part of other memory in the caches.
void overwrite_lines(std::span<std::byte> memory, std::byte value) noexcept;

}  // namespace xtune::host
