// The buffer descriptor of scratch memory that kernels of gfx90a get in four scalar registers.
#pragma once

#include <cstdint>

namespace xtune::emulator {

/// A base address that no memory of the host has: bits 47 to 40.
constexpr std::uint64_t scratch_descriptor_base = std::uint64_t{0xff} << 40;

}  // namespace xtune::emulator
