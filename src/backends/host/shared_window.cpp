// The loader knows where each library's thread-local variables are.
#include "backends/host/shared_window.hpp"

#include <link.h>

namespace xtune::host {
namespace {

struct Search {
  std::uintptr_t kernel;
  std::byte* variables = nullptr;
  std::size_t bytes = 0;
};

int look_at(dl_phdr_info* library, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  bool has_kernel = false;
  std::size_t bytes = 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& header = library->dlpi_phdr[i];
    const std::uintptr_t begin = library->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && search.kernel >= begin && search.kernel < begin + header.p_memsz) has_kernel = true;
    if (header.p_type == PT_TLS) bytes = header.p_memsz;
  }
  if (!has_kernel) return 0;
  search.variables = static_cast<std::byte*>(library->dlpi_tls_data);
  search.bytes = search.variables ? bytes : 0;
  return 1;
}

bool is_in(const std::byte* base, std::size_t size, const void* address, std::size_t bytes) noexcept {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base);
  return base && offset <= size && bytes <= size - offset;
}

// A rank in the upper bits, then whether it is dynamic memory. Never 0: variables begin at 16.
constexpr std::uint32_t rank_shift = 27, dynamic_bit = 1u << 26, offset_mask = dynamic_bit - 1, variables_begin = 16;

}  // namespace

bool SharedWindow::contains(const void* address, std::size_t bytes) const noexcept {
  return !knows_variables || is_in(dynamic, dynamic_bytes, address, bytes) ||
         is_in(variables, variable_bytes, address, bytes);
}

std::byte* SharedWindow::of(const SharedWindow& other, const void* address) const noexcept {
  if (this == &other) return static_cast<std::byte*>(const_cast<void*>(address));
  const auto* const at = static_cast<const std::byte*>(address);
  if (is_in(dynamic, dynamic_bytes, address, 1)) return other.dynamic + (at - dynamic);
  if (is_in(variables, variable_bytes, address, 1)) return other.variables + (at - variables);
  return nullptr;
}

SharedWindow shared_window(const XtuneKernel& kernel, void* dynamic, std::size_t dynamic_bytes, bool sanitized) {
  Search search{reinterpret_cast<std::uintptr_t>(kernel.run_thread)};
  dl_iterate_phdr(look_at, &search);
  return {static_cast<std::byte*>(dynamic), search.variables, dynamic_bytes, search.bytes, !sanitized};
}

std::uint32_t remote_address(const SharedWindow& own, const void* address, unsigned rank) noexcept {
  const auto* const at = static_cast<const std::byte*>(address);
  std::uint32_t place = 0;
  if (is_in(own.dynamic, own.dynamic_bytes, address, 0))
    place = dynamic_bit | static_cast<std::uint32_t>(at - own.dynamic);
  else if (is_in(own.variables, own.variable_bytes, address, 0))
    place = variables_begin + static_cast<std::uint32_t>(at - own.variables);
  else
    return 0;
  return rank << rank_shift | place;
}

RemotePlace remote_place(std::uint32_t address) noexcept {
  const bool is_dynamic = address & dynamic_bit;
  return {address >> rank_shift, is_dynamic, (address & offset_mask) - (is_dynamic ? 0 : variables_begin)};
}

}  // namespace xtune::host
