// The end of dynamic shared memory is guarded by a pattern, or by AddressSanitizer.
#include "backends/host/block/block_place.hpp"

#include <algorithm>
#include <new>

#include "backends/host/block/fiber.hpp"

namespace xtune::host {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;
constexpr std::size_t sanitized_stack_bytes = std::size_t{256} << 10;  // instrumented frames are several times larger
constexpr std::size_t shared_alignment = 1024;
constexpr std::size_t shared_guard_bytes = 4096;
constexpr auto shared_guard_value = std::byte{0xA5};

/// Marks for AddressSanitizer, if it is loaded, which part of the dynamic shared memory this launch may access.
void limit_shared(void* memory, std::size_t usable, std::size_t size) {
  const AddressSanitizer& calls = address_sanitizer();
  if (!calls.poison) return;
  calls.unpoison(memory, size);
  calls.poison(static_cast<char*>(memory) + usable, size - usable);
}

}  // namespace

XtuneUint3 uint3_of(const std::array<std::uint32_t, 3>& values) { return {values[0], values[1], values[2]}; }

BlockPlace::BlockPlace(std::int64_t shared_limit_bytes)
    : shared_bytes_(static_cast<std::size_t>(shared_limit_bytes)),
      plain_(stack_bytes),
      sanitized_(sanitized_stack_bytes) {}

void BlockPlace::begin_launch(const BlockJob& job) {
  // Always at the same address: a kernel may keep it in a thread-local pointer.
  if (!shared_)
    shared_.reset(std::aligned_alloc(shared_alignment,
                                     (shared_bytes_ + shared_alignment - 1) / shared_alignment * shared_alignment));
  if (!shared_) throw std::bad_alloc();
  if (job.entry.sanitized)
    limit_shared(shared_.get(), job.launch.shared_bytes, shared_bytes_);
  else
    guard(job.launch.shared_bytes);
  job.entry.kernel->begin_launch(uint3_of(job.launch.grid), uint3_of(job.launch.block), shared_.get());
}

/// Fills the memory after the launch's dynamic shared memory with a pattern, unless it is still filled.
void BlockPlace::guard(std::size_t usable) {
  if (usable == usable_bytes_) return;
  usable_bytes_ = usable;
  guarded_ = {static_cast<std::byte*>(shared_.get()) + usable, std::min(shared_guard_bytes, shared_bytes_ - usable)};
  std::ranges::fill(guarded_, shared_guard_value);
}

bool BlockPlace::take_damage() {
  const bool damaged = std::ranges::any_of(guarded_, [](std::byte value) { return value != shared_guard_value; });
  if (damaged) std::ranges::fill(guarded_, shared_guard_value);
  return damaged;
}

}  // namespace xtune::host
