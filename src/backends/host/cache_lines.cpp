// clflushopt or clflush on x86-64, dc civac on 64-bit Arm, where Linux lets programs use it.
#include "backends/host/cache_lines.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/mman.h>
#endif

namespace xtune::host {
namespace {

constexpr std::size_t usual_line_bytes = 64;

#if defined(__x86_64__)

// clflushopt does not wait for the line before it.
[[gnu::target("clflushopt")]] void evict_independently(const std::byte* line, const std::byte* end) noexcept {
  for (; line < end; line += usual_line_bytes) _mm_clflushopt(const_cast<std::byte*>(line));
}

void evict_in_order(const std::byte* line, const std::byte* end) noexcept {
  for (; line < end; line += usual_line_bytes) _mm_clflush(line);
}

bool has_clflushopt() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & bit_CLFLUSHOPT) != 0;
}

std::size_t line_bytes() noexcept { return usual_line_bytes; }

void evict(const std::byte* line, const std::byte* end) noexcept {
  static const bool independently = has_clflushopt();
  independently ? evict_independently(line, end) : evict_in_order(line, end);
  _mm_mfence();
}

#elif defined(__aarch64__)

/// The smallest line of all data caches.
std::size_t line_bytes() noexcept {
  std::uint64_t cache_type = 0;
  asm("mrs %0, ctr_el0" : "=r"(cache_type));
  return std::size_t{4} << (cache_type >> 16 & 15);
}

void evict(const std::byte* line, const std::byte* end) noexcept {
  for (const std::size_t step = line_bytes(); line < end; line += step)
    asm volatile("dc civac, %0" : : "r"(line) : "memory");
  asm volatile("dsb ish" : : : "memory");
}

#else

std::size_t line_bytes() noexcept { return usual_line_bytes; }
void evict(const std::byte*, const std::byte*) noexcept {}

#endif

}  // namespace

void evict_lines(std::span<const std::byte> memory) noexcept {
  if (memory.empty()) return;
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % line_bytes();
  evict(memory.data() - before, memory.data() + memory.size());
}

void drop_translations() noexcept {
#if defined(__x86_64__)
  // Linux drops all translations of the process when more than 33 pages lose a permission. These are the zero page.
  constexpr std::size_t bytes = std::size_t{64} * 4096;
  static void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) return;
  mprotect(pages, bytes, PROT_NONE);
  mprotect(pages, bytes, PROT_READ);
#endif
}

void overwrite_lines(std::span<std::byte> memory, std::byte value) noexcept {
  // Not memset, which writes much memory past the caches.
  for (std::size_t at = 0; at < memory.size(); at += usual_line_bytes)
    *static_cast<volatile std::byte*>(memory.data() + at) = value;
}

}  // namespace xtune::host
