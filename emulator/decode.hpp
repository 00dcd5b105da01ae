// The machine code of a code object as instructions.
#pragma once

#include <string>

#include "emulator/image.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {

/// Throws as Disassembler does. What is not known becomes an instruction that ends the launch if it is executed.
Code decode(const Image& image, const std::string& arch, int wave_size);

}  // namespace xtune::emulator
