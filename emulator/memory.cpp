#include "emulator/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

struct Place {
  std::uint64_t base, bytes;

  std::uint64_t end() const { return base + bytes; }
  bool has(const Place& other) const { return base <= other.base && other.end() <= end(); }
  /// From the nearest byte of this place to the nearest one outside of it that `access` has.
  std::uint64_t distance(const Place& access) const {
    if (access.base < base) return base - access.base;
    return access.base > end() ? access.base - end() : 0;
  }
};

std::string words_beside(const Place& place, const Place& access, const std::string& name) {
  const bool before = access.base < place.base;
  std::string where;
  if (before && access.base + access.bytes > place.base)
    where = fmt::format("the first {} of them before the start", place.base - access.base);
  else if (before)
    where = fmt::format("{} bytes before the start", place.base - access.base);
  else if (access.base < place.end())
    where = fmt::format("the last {} of them after the end", access.base + access.bytes - place.end());
  else if (access.base == place.end())
    where = "directly after the end";
  else
    where = fmt::format("{} bytes after the end", access.base - place.end());
  return fmt::format("{} of {} ({} bytes)", where, name, place.bytes);
}

}  // namespace

void Memory::add(void* base, std::size_t bytes, bool of_launcher) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const auto at = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                   [](std::uint64_t value, const Allocation& other) { return value < other.base; });
  const bool hits_next = at != allocations_.end() && address + bytes > at->base;
  const bool hits_last = at != allocations_.begin() && std::prev(at)->base + std::prev(at)->bytes > address;
  if (hits_next || hits_last)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("allocation of {} bytes at {:#x} overlaps another one; remove that one first", bytes, address));
  allocations_.insert(at, {address, bytes, of_launcher});
}

bool Memory::remove(const void* base) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const Allocation* const one = holder(address, 0);
  if (one == nullptr || one->base != address) return false;
  std::erase_if(named_, [&](const Named& part) { return Place{one->base, one->bytes}.has({part.base, part.bytes}); });
  allocations_.erase(allocations_.begin() + (one - allocations_.data()));
  return true;
}

const Memory::Allocation* Memory::holder(std::uint64_t address, std::size_t bytes) const noexcept {
  const auto at = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                   [](std::uint64_t value, const Allocation& other) { return value < other.base; });
  if (at == allocations_.begin()) return nullptr;
  const Allocation& one = *std::prev(at);
  return address - one.base > one.bytes || bytes > one.bytes - (address - one.base) ? nullptr : &one;
}

std::byte* Memory::find(std::uint64_t address, std::size_t bytes) const noexcept {
  return holder(address, bytes) ? reinterpret_cast<std::byte*>(address) : nullptr;
}

void Memory::name(const void* base, std::size_t bytes, const std::string& name) {
  named_.push_back({reinterpret_cast<std::uint64_t>(base), bytes, name});
}

std::string Memory::beside(std::uint64_t address, std::size_t bytes) const {
  constexpr std::uint64_t far = std::uint64_t{1} << 40;  // no index is wrong by so much
  const Place access{address, bytes};
  std::vector<Named> places = named_;
  // Where some have names, a kernel does not know the others.
  if (places.empty())
    for (const Allocation& one : allocations_)
      if (!one.of_launcher) places.push_back({one.base, one.bytes, "an allocation"});
  const auto distance = [&](const Named& one) { return Place{one.base, one.bytes}.distance(access); };
  const auto nearest = std::min_element(places.begin(), places.end(),
                                        [&](const Named& a, const Named& b) { return distance(a) < distance(b); });
  if (nearest == places.end() || distance(*nearest) > far) return {};
  return words_beside({nearest->base, nearest->bytes}, access, nearest->name);
}

}  // namespace xtune::emulator
