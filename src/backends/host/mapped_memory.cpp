// Uses mincore(2), which fails for pages that are not mapped and accesses none.
#include "backends/host/mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace xtune::host {
namespace {

constexpr std::uintptr_t max_pages = 4096;

enum class Answer { mapped, not_mapped, unknown };

Answer ask(std::uintptr_t page, std::uintptr_t pages, std::uintptr_t page_bytes) noexcept {
  unsigned char resident[max_pages];
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of a page
  if (mincore(reinterpret_cast<void*>(page * page_bytes), pages * page_bytes, resident) == 0) return Answer::mapped;
  return errno == ENOMEM ? Answer::not_mapped : Answer::unknown;
}

}  // namespace

std::optional<std::size_t> mapped_bytes(const void* address, std::size_t wanted) noexcept {
  static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  if (wanted == 0) return 0;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t last = start + std::min<std::uintptr_t>(wanted - 1, UINTPTR_MAX - start);
  const std::uintptr_t end = last / page_bytes + 1;
  std::uintptr_t page = start / page_bytes;
  for (std::uintptr_t pages = max_pages; page < end;) {
    const std::uintptr_t next = std::min(pages, end - page);
    switch (ask(page, next, page_bytes)) {
      case Answer::unknown:
        return std::nullopt;
      case Answer::mapped:
        page += next;
        break;
      case Answer::not_mapped:
        if (next == 1) return page * page_bytes > start ? page * page_bytes - start : 0;
        pages = next / 2;
    }
  }
  return wanted;
}

}  // namespace xtune::host
