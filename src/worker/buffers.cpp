// Guard zones around device memory, and host memory over mmap and mprotect.
#include "worker/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

// Every float type of at least two bytes, and f8e5m2, reads it as NaN at any even address, so that results computed
// from memory beyond the arguments show, even if they are multiplied by 0. It is not one repeated byte, which memset
// overruns would write.
std::vector<std::byte> GuardedBuffer::zone_contents(std::size_t bytes) {
  std::vector<std::byte> zone(bytes, std::byte{0xFE});
  for (std::size_t i = 1; i < bytes; i += 2) zone[i] = std::byte{0xFF};
  return zone;
}

GuardedBuffer::GuardedBuffer(measure::Device& device, std::size_t bytes, std::size_t zone_bytes)
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
  const std::vector<std::byte> fresh = zone_contents(guard_);
  memory_->write(0, fresh);
  memory_->write(guard_ + size_, fresh);
}

void GuardedBuffer::zero_guards() {
  memory_->fill(0, guard_, std::byte{0});
  memory_->fill(guard_ + size_, guard_, std::byte{0});
}

const char* GuardedBuffer::damage() {
  return damaged(guard_ + size_) ? "past the end of" : damaged(0) ? "before the start of" : nullptr;
}

std::array<std::uint64_t, 2> GuardedBuffer::zones() const noexcept {
  const std::uint64_t start = reinterpret_cast<std::uintptr_t>(memory_->address());
  return {start, start + guard_ + size_};
}

// The memory's own check would allow a range that reaches into a zone.
void GuardedBuffer::check(std::size_t offset, std::size_t size) const {
  if (offset > size_ || size > size_ - offset) throw std::out_of_range("a range outside of its buffer");
}

bool GuardedBuffer::damaged(std::size_t offset) {
  std::vector<std::byte> zone(guard_);
  memory_->read(offset, zone);
  return zone != zone_contents(guard_);
}

SealedMemory::SealedMemory(std::size_t bytes) : size_(bytes) {
  void* memory =
      mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::unavailable,
                "not enough memory for " + base::human_bytes(bytes) + " of test data on this host");
  data_ = static_cast<std::byte*>(memory);
}

SealedMemory::~SealedMemory() {
  if (data_) munmap(data_, std::max<std::size_t>(size_, 1));
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void SealedMemory::seal() noexcept {
  // A failure only loses the protection.
  if (data_) mprotect(data_, std::max<std::size_t>(size_, 1), PROT_READ);
}

}  // namespace xtune::worker
