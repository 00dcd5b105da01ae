// Execution contexts that switch between each other on one operating-system thread (Boost.Context), with support for
// AddressSanitizer.
#pragma once

#include <cstddef>

namespace xtune::host {

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
