// Switching by Boost.Context's jump, below its fiber class: that one unwinds the stack of a fiber it destroys, and a
// kernel's frames cannot be unwound.
#include "backends/host/fiber.hpp"

#include <dlfcn.h>

#include <boost/context/detail/fcontext.hpp>
#include <type_traits>

namespace xtune::host {
namespace {

namespace context = boost::context::detail;

// AddressSanitizer keeps bounds and shadow of the running stack; it is in the process only sometimes.
struct SanitizerCalls {
  void (*start)(void** fake_stack, const void* bottom, std::size_t bytes) = nullptr;
  void (*finish)(void* fake_stack, const void** old_bottom, std::size_t* old_bytes) = nullptr;
  void (*unpoison)(const volatile void*, std::size_t) = nullptr;
  SanitizerCalls() {
    const auto find = [](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
    };
    find("__sanitizer_start_switch_fiber", start);
    find("__sanitizer_finish_switch_fiber", finish);
    find("__asan_unpoison_memory_region", unpoison);
    if (!start || !finish) start = nullptr, finish = nullptr;
  }
};
const SanitizerCalls& sanitizer() {
  static const SanitizerCalls calls;
  return calls;
}

struct Jump {
  void** left;  ///< where the context that was left is to be kept
  const void** bottom;
  std::size_t* bytes;
};
thread_local Jump jump;

}  // namespace

void FiberContext::prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument) {
  // Frames that were dropped left their red zones behind.
  if (sanitizer().unpoison) sanitizer().unpoison(bottom, bytes);
  bottom_ = bottom;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
  context_ = context::make_fcontext(bottom + bytes, bytes, [](context::transfer_t from) {
    *jump.left = from.fctx;
    if (const SanitizerCalls& calls = sanitizer(); calls.finish) calls.finish(nullptr, jump.bottom, jump.bytes);
    const auto* self = static_cast<FiberContext*>(from.data);
    self->entry_(self->argument_);
  });
}

void FiberContext::drop() noexcept { context_ = nullptr; }

void FiberContext::switch_to(FiberContext& from, FiberContext& to) {
  const SanitizerCalls& calls = sanitizer();
  jump.left = &from.context_;
  if (calls.start) {
    jump.bottom = &from.bottom_;
    jump.bytes = &from.bytes_;
    calls.start(&from.fake_stack_, to.bottom_, to.bytes_);
  }
  const context::transfer_t back = context::jump_fcontext(to.context_, &to);
  *jump.left = back.fctx;
  if (calls.finish) calls.finish(from.fake_stack_, jump.bottom, jump.bytes);
}

}  // namespace xtune::host
