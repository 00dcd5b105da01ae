// The machine code of a code object as instructions.
#pragma once

#include <string>
#include <string_view>

#include "emulator/image.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {

/// Throws as Disassembler does. What is not known becomes an instruction that ends the launch if it is executed.
Code decode(const Image& image, const std::string& arch, int wave_size);

/// The instructions of a kernel as text, with their offsets, the targets of branches, and lines of the source where the
/// code object has them. Throws as Image and Disassembler do, and Error(invalid_argument) if there is no such kernel.
std::string listing(std::string_view code_object, const std::string& arch, const std::string& kernel);

}  // namespace xtune::emulator
