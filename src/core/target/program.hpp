// The xtune program, which runs as every worker process, and the emulator in the place of an AMD GPU that is not
// present.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::target {

/// The program's file; that of the running program unless another one was set. Thread-safe.
std::filesystem::path worker_program();
void set_worker_program(const std::filesystem::path& program);

/// Whether the hip backend needs the emulator for this architecture ("gfx942"): it is AMD's, and no device here has it.
bool needs_emulator(const std::string& arch);

/// From now on, the hip backend of this process and of the processes that it starts has an emulated GPU of this
/// architecture. Sets XTUNE_EMULATED_ARCH, and XTUNE_HIP_LIBRARY unless the user did. Throws Error(unavailable), with
/// the place where it was searched, if the emulator is not installed. Not thread-safe.
void use_emulator(const std::string& arch);

}  // namespace xtune::target
