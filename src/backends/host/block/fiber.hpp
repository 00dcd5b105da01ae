// Execution contexts that switch between each other on one operating-system thread (Boost.Context), with their stacks
// and with support for AddressSanitizer.
#pragma once

#include <cstddef>

namespace xtune::host {

/// Each is nullptr if AddressSanitizer is not loaded. Source: sanitizer/asan_interface.h,
/// sanitizer/common_interface_defs.h.
struct AddressSanitizer {
  void (*poison)(const volatile void* memory, std::size_t bytes) = nullptr;
  void (*unpoison)(const volatile void* memory, std::size_t bytes) = nullptr;
  void (*start_switch)(void** fake_stack, const void* bottom, std::size_t bytes) = nullptr;
  void (*finish_switch)(void* fake_stack, const void** old_bottom, std::size_t* old_bytes) = nullptr;
};

/// Looked up once.
const AddressSanitizer& address_sanitizer();

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

/// A suspended execution: a fiber, or the thread's own stack. Contexts of one thread only switch between each other.
/// Dropping one drops its frames without unwinding them.
class FiberContext {
 public:
  /// The context of the current stack.
  FiberContext() = default;
  ~FiberContext();
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;
  /// The next switch to it starts entry(argument) on the given stack. entry must not return.
  void prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument);
  bool prepared() const noexcept { return context_ != nullptr; }
  /// Drops the frames on its stack.
  void drop() noexcept;

  /// Switches from `from`, which must be the running one, to `to`; returns when something switches back to `from`.
  static void switch_to(FiberContext& from, FiberContext& to);

 private:
  void* context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  const void* bottom_ = nullptr;  ///< nullptr for the thread's own stack until the first switch
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;    ///< AddressSanitizer's
  void* race_history_ = nullptr;  ///< ThreadSanitizer's
  bool owns_history_ = false;
};

}  // namespace xtune::host
