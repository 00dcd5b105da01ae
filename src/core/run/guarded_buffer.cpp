// Guard zones around device memory.
#include "core/run/guarded_buffer.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/validate/inputs.hpp"

namespace xtune {

GuardedBuffer::GuardedBuffer(Device& device, std::size_t bytes, std::size_t zone_bytes)
    : size_(bytes), guard_(zone_bytes), memory_(device.allocate(bytes + 2 * zone_bytes)) {}

void* GuardedBuffer::address() noexcept { return static_cast<std::byte*>(memory_->address()) + guard_; }

void GuardedBuffer::write(std::size_t offset, std::span<const std::byte> bytes) {
  check(offset, bytes.size());
  memory_->write(guard_ + offset, bytes);
}

void GuardedBuffer::read(std::size_t offset, std::span<std::byte> bytes) {
  check(offset, bytes.size());
  memory_->read(guard_ + offset, bytes);
}

void GuardedBuffer::fill(std::size_t offset, std::size_t size, std::byte value) {
  check(offset, size);
  memory_->fill(guard_ + offset, size, value);
}

void GuardedBuffer::renew_guards() {
  memory_->fill(0, guard_, guard_byte);
  memory_->fill(guard_ + size_, guard_, guard_byte);
}

const char* GuardedBuffer::damage() {
  return damaged(guard_ + size_) ? "past the end of" : damaged(0) ? "before the start of" : nullptr;
}

// The memory's own check would let a range reach into a zone.
void GuardedBuffer::check(std::size_t offset, std::size_t size) const {
  if (offset > size_ || size > size_ - offset) throw std::out_of_range("a range outside of its buffer");
}

bool GuardedBuffer::damaged(std::size_t offset) {
  std::vector<std::byte> zone(guard_);
  memory_->read(offset, zone);
  return std::any_of(zone.begin(), zone.end(), [](std::byte b) { return b != guard_byte; });
}

}  // namespace xtune
