// Memory for the stacks of one operating-system thread's fibers.
#pragma once

#include <cstddef>

namespace xtune::host {

/// `count` adjacent stacks in one mapping, of which only used pages take memory. There is a guard page below each, as
/// long as this process has few of them (the kernel limits mappings); the other stacks begin with a canary. Throws
/// Error(unavailable).
class Stacks {
 public:
  Stacks(std::size_t count, std::size_t stack_bytes);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// The number of this process' mappings that guard pages of stacks have made.
  static std::size_t guard_mappings() noexcept;
  std::size_t count() const noexcept { return count_; }
  std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  /// The lowest address that fiber i may use. Its stack grows down from bottom(i) + usable_bytes(i).
  std::byte* bottom(std::size_t i) const noexcept { return memory_ + i * stride_ + guard_bytes_; }
  /// A little less than stack_bytes, with differences between neighbours: stacks that all began at the same offset of a
  /// page would compete for the same cache sets.
  std::size_t usable_bytes(std::size_t i) const noexcept { return stack_bytes_ - i % 32 * 128; }
  /// False if fiber i has written below its stack. Always true with guard pages, since the process would have crashed.
  bool intact(std::size_t i) const noexcept;

 private:
  std::size_t count_, stack_bytes_, guard_bytes_, stride_;
  bool guarded_;
  std::byte* memory_;
};

}  // namespace xtune::host
