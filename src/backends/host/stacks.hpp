// Memory for the stacks of one operating-system thread's fibers.
#pragma once

#include <cstddef>

namespace xtune::host {

/// `count` stacks side by side in one mapping, of which only what is used takes memory. A guard page lies below each as
/// long as this process has few of them (the kernel limits mappings); the others begin with a canary. Throws
/// Error(unavailable).
class Stacks {
 public:
  Stacks(std::size_t count, std::size_t stack_bytes);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  std::size_t count() const noexcept { return count_; }
  std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  /// The lowest address that fiber i may use. Its stack grows down from bottom(i) + usable_bytes(i).
  std::byte* bottom(std::size_t i) const noexcept { return memory_ + i * stride_ + guard_bytes_; }
  /// A little less than stack_bytes, differently for neighbours: stacks that all began at the same offset of a page
  /// would compete for the same cache sets.
  std::size_t usable_bytes(std::size_t i) const noexcept { return stack_bytes_ - i % 32 * 128; }
  /// False when fiber i has written below its stack. Always true with guard pages: there the process has died of it.
  bool intact(std::size_t i) const noexcept;

 private:
  std::size_t count_, stack_bytes_, guard_bytes_, stride_;
  bool guarded_;
  std::byte* memory_;
};

}  // namespace xtune::host
