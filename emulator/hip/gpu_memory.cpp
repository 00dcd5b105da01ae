#include "emulator/hip/gpu_memory.hpp"

#include <algorithm>
#include <cstdlib>

#include "system/machine.hpp"

namespace xtune::emulator {
namespace {

constexpr std::size_t alignment = 256;

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

GpuMemory::Block block_with(const std::map<std::uint64_t, std::size_t>& blocks, std::uint64_t address,
                            std::size_t bytes) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return {};
  const auto& [base, size] = *std::prev(after);
  if (address - base > size || bytes > size - (address - base)) return {};
  return {base, size};
}

}  // namespace

GpuMemory::~GpuMemory() {
  for (const auto& [address, bytes] : blocks_) std::free(reinterpret_cast<void*>(address));
}

void* GpuMemory::allocate(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes > system::machine_memory_bytes()) return nullptr;  // the kernel may promise more than it has
  void* const address = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!address) return nullptr;
  blocks_[number_of(address)] = bytes;
  memory_.add(address, bytes);
  return address;
}

bool GpuMemory::free(void* address) {
  if (blocks_.erase(number_of(address)) == 0) return false;
  memory_.remove(address);
  std::free(address);
  return true;
}

void GpuMemory::add_variable(void* address, std::size_t bytes) { variables_[number_of(address)] = bytes; }

void GpuMemory::remove_variables(const void* begin, const void* end) {
  variables_.erase(variables_.lower_bound(number_of(begin)), variables_.lower_bound(number_of(end)));
}

GpuMemory::Block GpuMemory::find(const void* address, std::size_t bytes) const {
  const Block block = block_with(blocks_, number_of(address), bytes);
  return block.bytes > 0 ? block : block_with(variables_, number_of(address), bytes);
}

}  // namespace xtune::emulator
