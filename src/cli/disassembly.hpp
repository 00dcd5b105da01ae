// Machine code of artifacts as text, by the disassemblers of the machine.
#pragma once

#include <filesystem>
#include <string>

#include "core/build/artifact.hpp"

namespace xtune::cli {

/// The kernel's instructions: SASS by nvdisasm or cuobjdump, AMD's by llvm-objdump, a CPU's by objdump. image: the
/// artifact's file. Throws Error(unavailable) that names the programs, where none of them is here or reads the file.
std::string disassemble(const build::Artifact& artifact, const std::filesystem::path& image);

}  // namespace xtune::cli
