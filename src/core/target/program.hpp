// The xtune program, which every worker process is.
#pragma once

#include <filesystem>

namespace xtune::target {

/// Its own file; the running program's unless another one was set. Thread-safe.
std::filesystem::path worker_program();
void set_worker_program(const std::filesystem::path& program);

}  // namespace xtune::target
