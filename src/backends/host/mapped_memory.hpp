// Which of this process's addresses have memory behind them.
#pragma once

#include <cstddef>
#include <optional>

namespace xtune::host {

/// How many bytes from this address on are mapped, `wanted` at most. Mapped is not the same as allocated: a buffer that
/// is too short may well have something behind it. nullopt: the system does not tell. A call of mincore(2) for each
/// 4096 pages where all is well.
std::optional<std::size_t> mapped_bytes(const void* address, std::size_t wanted) noexcept;

}  // namespace xtune::host
