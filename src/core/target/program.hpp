// The xtune program, which runs as every worker process.
#pragma once

#include <filesystem>

namespace xtune::target {

/// The program's file; that of the running program unless another one was set. Thread-safe.
std::filesystem::path worker_program();
void set_worker_program(const std::filesystem::path& program);

}  // namespace xtune::target
