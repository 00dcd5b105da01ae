// The emulator of AMD GPUs in the place of a GPU that this machine does not have.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "system/files.hpp"

namespace xtune::testing {

/// The library in the place of libamdhip64.so; empty: this build has none.
inline std::string emulator_library() {
#ifdef XTUNE_TEST_EMULATOR
  return XTUNE_TEST_EMULATOR;
#else
  return {};
#endif
}

/// Whether faults name lines of the source here.
inline bool has_source_lines() { return dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }

/// Whether kernels can be compiled and executed for emulated GPUs here; prints a line if not.
inline bool can_emulate_gpus() {
  static const bool possible = [] {
    std::string missing;
    if (emulator_library().empty()) missing = "this build has no emulator [apt: libamdhip64-dev]";
    const std::string packages = " is not installed [apt: clang-19 lld-19 libllvm19]";
    for (const char* program : {"clang-19", "ld.lld-19"})
      if (system::find_program(program).empty()) missing = program + packages;
    void* const llvm = dlopen("libLLVM.so.19.1", RTLD_LAZY | RTLD_LOCAL);
    if (!llvm) missing = "LLVM 19" + packages;
    if (llvm) dlclose(llvm);
    if (!missing.empty()) MESSAGE("skipped: emulated AMD GPUs: " << missing);
    return missing.empty();
  }();
  return possible;
}

/// All architectures whose code is executed, each compiled by the first compiler that knows it.
constexpr const char* all_emulated = "gfx942,gfx90a,gfx1100,gfx1201";

/// Whether a test is to run in full on all of them: XTUNE_EMULATED_ALL in the environment (CONTRIBUTING.md).
inline bool tests_all_emulated() { return std::getenv("XTUNE_EMULATED_ALL") != nullptr; }

/// Lets the hip backend of this process and of its workers use emulated GPUs of these architectures ("gfx942,gfx1100").
/// Nothing happens on a machine with an AMD GPU, if XTUNE_HIP_LIBRARY is set, and where kernels cannot be emulated. To
/// be called before HIP is used.
inline void use_emulated_gpus(const char* archs) {
  if (std::filesystem::exists("/dev/kfd") || std::getenv("XTUNE_HIP_LIBRARY") || !can_emulate_gpus()) return;
  setenv("XTUNE_HIP_LIBRARY", emulator_library().c_str(), 1);
  setenv("XTUNE_EMULATED_ARCH", archs, 1);
}

}  // namespace xtune::testing
