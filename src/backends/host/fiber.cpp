// Switches with Boost.Context's jump instead of its fiber class, which unwinds the stack of a destroyed fiber: a
// kernel's frames cannot be unwound.
#include "backends/host/fiber.hpp"

#include <boost/context/detail/fcontext.hpp>

#include "backends/host/address_sanitizer.hpp"

#if defined(__SANITIZE_THREAD__)
#define XTUNE_HAS_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define XTUNE_HAS_THREAD_SANITIZER
#endif
#endif

#ifdef XTUNE_HAS_THREAD_SANITIZER
// Source: sanitizer/tsan_interface.h.
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

namespace xtune::host {
namespace {

namespace context = boost::context::detail;

// AddressSanitizer keeps the bounds and shadow of the running stack.
struct Jump {
  void** left;  ///< where to store the context that was left
  const void** bottom;
  std::size_t* bytes;
};
thread_local Jump jump;

}  // namespace

void FiberContext::prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument) {
  // Frames that were dropped left red zones.
  if (address_sanitizer().unpoison) address_sanitizer().unpoison(bottom, bytes);
  bottom_ = bottom;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
#ifdef XTUNE_HAS_THREAD_SANITIZER
  if (!owns_history_) race_history_ = __tsan_create_fiber(0);
  owns_history_ = true;
#endif
  context_ = context::make_fcontext(bottom + bytes, bytes, [](context::transfer_t from) {
    *jump.left = from.fctx;
    if (const AddressSanitizer& calls = address_sanitizer(); calls.finish_switch)
      calls.finish_switch(nullptr, jump.bottom, jump.bytes);
    const auto* self = static_cast<FiberContext*>(from.data);
    self->entry_(self->argument_);
  });
}

void FiberContext::drop() noexcept {
  context_ = nullptr;
#ifdef XTUNE_HAS_THREAD_SANITIZER
  if (owns_history_) __tsan_destroy_fiber(race_history_);
  owns_history_ = false;
#endif
}

FiberContext::~FiberContext() { drop(); }

void FiberContext::switch_to(FiberContext& from, FiberContext& to) {
  const AddressSanitizer& calls = address_sanitizer();
  jump.left = &from.context_;
  if (calls.start_switch) {
    jump.bottom = &from.bottom_;
    jump.bytes = &from.bytes_;
    calls.start_switch(&from.fake_stack_, to.bottom_, to.bytes_);
  }
#ifdef XTUNE_HAS_THREAD_SANITIZER
  if (!from.owns_history_) from.race_history_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.race_history_, 0);
#endif
  const context::transfer_t back = context::jump_fcontext(to.context_, &to);
  *jump.left = back.fctx;
  if (calls.finish_switch) calls.finish_switch(from.fake_stack_, jump.bottom, jump.bytes);
}

}  // namespace xtune::host
