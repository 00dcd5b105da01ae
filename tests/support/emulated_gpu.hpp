// The emulator of AMD GPUs in the place of a GPU that this machine does not have.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace xtune::testing {

/// Lets the hip backend of this process and of its workers use emulated GPUs of these architectures ("gfx942,gfx1100").
/// Nothing happens on a machine with an AMD GPU, in a build without the emulator, and if XTUNE_HIP_LIBRARY is set. To
/// be called before HIP is used.
inline void use_emulated_gpus([[maybe_unused]] const char* archs) {
#ifdef XTUNE_TEST_EMULATOR
  if (std::filesystem::exists("/dev/kfd") || std::getenv("XTUNE_HIP_LIBRARY")) return;
  setenv("XTUNE_HIP_LIBRARY", XTUNE_TEST_EMULATOR, 1);
  setenv("XTUNE_EMULATED_ARCH", archs, 1);
#endif
}

}  // namespace xtune::testing
