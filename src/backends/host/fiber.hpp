// Execution contexts that switch among each other on one operating-system thread (Boost.Context), known to
// AddressSanitizer.
#pragma once

#include <cstddef>

namespace xtune::host {

/// A place where execution stands still: a fiber, or the thread's own stack. Contexts of one thread only ever switch
/// among themselves. Dropping one drops its frames without unwinding them.
class FiberContext {
 public:
  /// The context of the stack this is called on.
  FiberContext() = default;
  ~FiberContext();
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;
  /// Starts over at entry(argument) on the given stack when next switched to. entry must not return.
  void prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument);
  bool prepared() const noexcept { return context_ != nullptr; }
  /// The frames on it are given up.
  void drop() noexcept;

  /// Leaves `from`, which must be the running one, for `to`; returns when something switches back to `from`.
  static void switch_to(FiberContext& from, FiberContext& to);

 private:
  void* context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  const void* bottom_ = nullptr;  ///< nullptr for the thread's own stack until it was left once
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;    ///< AddressSanitizer's
  void* race_history_ = nullptr;  ///< ThreadSanitizer's
  bool owns_history_ = false;
};

}  // namespace xtune::host
