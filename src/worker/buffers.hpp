// Memory of the arguments: guarded on the device, read-only on the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/measure/device.hpp"

namespace xtune::worker {

/// Offsets, size and address are those of the bytes between the zones. A zone's size is a multiple of the alignment
/// that Device::allocate guarantees, or 0: then there is none, and damage is never found.
class GuardedBuffer final : public measure::Buffer {
 public:
  GuardedBuffer(measure::Device& device, std::size_t bytes, std::size_t zone_bytes);
  std::size_t size() const noexcept override { return size_; }
  void* address() noexcept override;
  void write(std::size_t offset, std::span<const std::byte> bytes) override;
  void read(std::size_t offset, std::span<std::byte> bytes) override;
  void fill(std::size_t offset, std::size_t size, std::byte value) override;

  void renew_guards();
  void zero_guards();  ///< until the next renew_guards()
  /// "before the start of" or "past the end of" if that zone was overwritten, else nullptr.
  const char* damage();

  /// The zones' addresses on the device, before and after; each has zone_bytes() bytes, which repeat zone_word.
  std::array<std::uint64_t, 2> zones() const noexcept;
  std::size_t zone_bytes() const noexcept { return guard_; }
  static constexpr std::uint64_t zone_word = 0xFFFEFFFEFFFEFFFE;  ///< FE FF FE FF ... in memory
  /// `bytes` bytes of repeated zone_word.
  static std::vector<std::byte> zone_contents(std::size_t bytes);

 private:
  void check(std::size_t offset, std::size_t size) const;
  bool damaged(std::size_t offset);
  std::size_t size_, guard_;
  std::unique_ptr<measure::Buffer> memory_;
};

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
