#include "emulator/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "xtune/error.hpp"

namespace xtune::emulator {

void Memory::add(void* base, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const auto at = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                   [](std::uint64_t value, const Allocation& other) { return value < other.base; });
  const bool hits_next = at != allocations_.end() && address + bytes > at->base;
  const bool hits_last = at != allocations_.begin() && std::prev(at)->base + std::prev(at)->bytes > address;
  if (hits_next || hits_last)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("allocation of {} bytes at {:#x} overlaps another one; remove that one first", bytes, address));
  allocations_.insert(at, {address, bytes});
}

void Memory::remove(const void* base) {
  std::erase_if(allocations_, [&](const Allocation& one) { return one.base == reinterpret_cast<std::uint64_t>(base); });
}

std::byte* Memory::find(std::uint64_t address, std::size_t bytes) const noexcept {
  const auto at = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                   [](std::uint64_t value, const Allocation& other) { return value < other.base; });
  if (at == allocations_.begin()) return nullptr;
  const Allocation& one = *std::prev(at);
  if (address - one.base > one.bytes || bytes > one.bytes - (address - one.base)) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace xtune::emulator
