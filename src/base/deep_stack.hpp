// Runs recursive work of a library on a large stack, and measures how much of it is used.
#pragma once

#include <cstddef>
#include <functional>

namespace xtune::base {

inline constexpr std::size_t deep_stack_bytes = std::size_t{64} << 20;

/// Runs work in a thread with a stack of deep_stack_bytes, whatever the limits of this process's own stack (ulimit -s),
/// and returns when it has ended. Only the pages in use take memory. What work throws is thrown here. Throws
/// Error(unavailable) where no such thread can be started.
void on_deep_stack(const std::function<void()>& work);

/// The depth of a recursion: an object made where it begins measures the bytes of stack that its callees use.
class StackDepth {
 public:
  StackDepth() : start_(here()) {}
  [[gnu::noinline]] std::size_t bytes() const noexcept {
    const char* const now = here();
    return static_cast<std::size_t>(now < start_ ? start_ - now : now - start_);
  }

 private:
  [[gnu::always_inline]] static const char* here() noexcept {
    return static_cast<const char*>(__builtin_frame_address(0));
  }

  const char* start_;
};

}  // namespace xtune::base
