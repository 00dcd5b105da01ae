// Memory that is written once and then read-only, so that a faulty kernel in the same process cannot corrupt it.
#pragma once

#include <cstddef>
#include <span>

namespace xtune::worker {

/// Owns whole pages. Movable, not copyable.
class SealedMemory {
 public:
  SealedMemory() = default;
  /// Zeroed and writable until seal(). Throws Error(unavailable) if there is not enough memory.
  explicit SealedMemory(std::size_t bytes);
  ~SealedMemory();
  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;

  std::span<std::byte> writable() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  void seal() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace xtune::worker
