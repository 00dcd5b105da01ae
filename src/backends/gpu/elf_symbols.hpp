// Symbols of ELF images: of AMD code objects, found by what points to them, and of programs, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xtune::gpu {

/// The dynamic symbol whose address is the initial value of the dynamic symbol `pointer`, by its relocation. nullopt:
/// the image is not a 64-bit ELF, is damaged, has no such pointer, or no exported symbol has that address. Never reads
/// outside the image. Source: "Relocation Records", LLVM AMDGPU backend guide.
std::optional<std::string> symbol_pointed_to(std::string_view image, std::string_view pointer);

/// The value of the defined symbol with this name in the table for debuggers and linkers, which a stripped program does
/// not have: an address relative to where the image is loaded. nullopt: there is none, or the image is not a 64-bit
/// ELF.
std::optional<std::uint64_t> symbol_value(std::string_view image, std::string_view name);

}  // namespace xtune::gpu
