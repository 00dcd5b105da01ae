// Switches with Boost.Context's jump instead of its fiber class, which unwinds the stack of a destroyed fiber: a
// kernel's frames cannot be unwound.
#include "backends/host/block/fiber.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xtune/error.hpp"

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

AddressSanitizer look_up() {
  AddressSanitizer calls;
  const auto find = [](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
  };
  find("__asan_poison_memory_region", calls.poison);
  find("__asan_unpoison_memory_region", calls.unpoison);
  find("__sanitizer_start_switch_fiber", calls.start_switch);
  find("__sanitizer_finish_switch_fiber", calls.finish_switch);
  // Other sanitizers also have some of these.
  return calls.poison && calls.unpoison && calls.start_switch && calls.finish_switch ? calls : AddressSanitizer{};
}

const auto guard_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));  // of 64 KiB on some Arm servers
// Each guard page splits a mapping in two; Linux allows 65530 of them by default (vm.max_map_count).
constexpr std::size_t guard_budget = 16384;
std::atomic<std::size_t> guards_in_use{0};

constexpr std::uint64_t canary = 0x5AFE57ACC0FFEE11u;

namespace context = boost::context::detail;

// AddressSanitizer keeps the bounds and shadow of the running stack.
struct Jump {
  void** left;  ///< where to store the context that was left
  const void** bottom;
  std::size_t* bytes;
};
thread_local Jump jump;

}  // namespace

const AddressSanitizer& address_sanitizer() {
  static const AddressSanitizer calls = look_up();
  return calls;
}

Stacks::Stacks(std::size_t count, std::size_t stack_bytes)
    : count_(count), stack_bytes_(stack_bytes), guard_bytes_(guard_bytes), stride_(stack_bytes + guard_bytes) {
  void* const memory =
      mmap(nullptr, count_ * stride_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::unavailable, fmt::format("no memory for {} fiber stacks of {} bytes: {}", count_,
                                                    stack_bytes_, std::strerror(errno)));
  memory_ = static_cast<std::byte*>(memory);
  // Huge pages would make every stack fully resident.
  madvise(memory_, count_ * stride_, MADV_NOHUGEPAGE);
  guarded_ = guards_in_use.fetch_add(count_) + count_ <= guard_budget;
  if (!guarded_) guards_in_use -= count_;
  for (std::size_t i = 0; i < count_; ++i) {
    std::byte* const guard = memory_ + i * stride_;
    if (guarded_)
      mprotect(guard, guard_bytes, PROT_NONE);
    else
      std::memcpy(guard + guard_bytes - sizeof canary, &canary, sizeof canary);
  }
}

Stacks::~Stacks() {
  // The red zones of frames that never returned would otherwise stay in memory that is mapped here later.
  if (address_sanitizer().unpoison) address_sanitizer().unpoison(memory_, count_ * stride_);
  munmap(memory_, count_ * stride_);
  if (guarded_) guards_in_use -= count_;
}

std::size_t Stacks::guard_mappings() noexcept { return 2 * guards_in_use; }

bool Stacks::intact(std::size_t i) const noexcept {
  return guarded_ || std::memcmp(memory_ + i * stride_ + guard_bytes - sizeof canary, &canary, sizeof canary) == 0;
}

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
