// One mapping for all stacks; guard pages as long as there are few.
#include "backends/host/stacks.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "backends/host/address_sanitizer.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

constexpr std::size_t page_bytes = 4096;
// Each guard page splits a mapping in two; Linux allows 65530 of them by default (vm.max_map_count).
constexpr std::size_t guard_budget = 16384;
std::atomic<std::size_t> guards_in_use{0};

constexpr std::uint64_t canary = 0x5AFE57ACC0FFEE11u;

}  // namespace

Stacks::Stacks(std::size_t count, std::size_t stack_bytes)
    : count_(count), stack_bytes_(stack_bytes), guard_bytes_(page_bytes), stride_(stack_bytes + page_bytes) {
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
      mprotect(guard, page_bytes, PROT_NONE);
    else
      std::memcpy(guard + page_bytes - sizeof canary, &canary, sizeof canary);
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
  return guarded_ || std::memcmp(memory_ + i * stride_ + page_bytes - sizeof canary, &canary, sizeof canary) == 0;
}

}  // namespace xtune::host
