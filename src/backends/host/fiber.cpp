// Switching by Boost.Context's jump, below its fiber class: that one unwinds the stack of a fiber it destroys, and a
// kernel's frames cannot be unwound.
#include "backends/host/fiber.hpp"

#include <boost/context/detail/fcontext.hpp>

#include "backends/host/address_sanitizer.hpp"

namespace xtune::host {
namespace {

namespace context = boost::context::detail;

// AddressSanitizer keeps bounds and shadow of the running stack.
struct Jump {
  void** left;  ///< where the context that was left is to be kept
  const void** bottom;
  std::size_t* bytes;
};
thread_local Jump jump;

}  // namespace

void FiberContext::prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument) {
  // Frames that were dropped left their red zones behind.
  if (address_sanitizer().unpoison) address_sanitizer().unpoison(bottom, bytes);
  bottom_ = bottom;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
  context_ = context::make_fcontext(bottom + bytes, bytes, [](context::transfer_t from) {
    *jump.left = from.fctx;
    if (const AddressSanitizer& calls = address_sanitizer(); calls.finish_switch)
      calls.finish_switch(nullptr, jump.bottom, jump.bytes);
    const auto* self = static_cast<FiberContext*>(from.data);
    self->entry_(self->argument_);
  });
}

void FiberContext::drop() noexcept { context_ = nullptr; }

void FiberContext::switch_to(FiberContext& from, FiberContext& to) {
  const AddressSanitizer& calls = address_sanitizer();
  jump.left = &from.context_;
  if (calls.start_switch) {
    jump.bottom = &from.bottom_;
    jump.bytes = &from.bytes_;
    calls.start_switch(&from.fake_stack_, to.bottom_, to.bytes_);
  }
  const context::transfer_t back = context::jump_fcontext(to.context_, &to);
  *jump.left = back.fctx;
  if (calls.finish_switch) calls.finish_switch(from.fake_stack_, jump.bottom, jump.bytes);
}

}  // namespace xtune::host
