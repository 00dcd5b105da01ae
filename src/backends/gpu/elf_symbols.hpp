// Symbols of an AMD code object, found by what points to them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xtune::gpu {

/// The dynamic symbol whose address is the initial value of the dynamic symbol `pointer`, by its relocation. nullopt:
/// the image is not a 64-bit ELF, is damaged, has no such pointer, or no exported symbol has that address. Never reads
/// outside the image. Source: "Relocation Records", LLVM AMDGPU backend guide.
std::optional<std::string> symbol_pointed_to(std::string_view image, std::string_view pointer);

}  // namespace xtune::gpu
