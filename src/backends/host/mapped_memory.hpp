// Finds out which of this process's addresses are mapped.
#pragma once

#include <cstddef>
#include <optional>

namespace xtune::host {

/// The number of mapped bytes from this address on, up to `wanted`. Mapped does not mean allocated: a buffer that is
/// too short may be followed by other memory. nullopt: the system does not report it. Calls mincore(2) for each 4096
/// pages if all are mapped.
std::optional<std::size_t> mapped_bytes(const void* address, std::size_t wanted) noexcept;

}  // namespace xtune::host
