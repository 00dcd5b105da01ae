// The program of the workers.
#include "core/target/program.hpp"

#include <mutex>

#include "base/files.hpp"

namespace xtune::target {
namespace {

std::mutex mutex;
/// Never destroyed: threads may still tune when the program ends.
std::filesystem::path& chosen() {
  static auto& path = *new std::filesystem::path;
  return path;
}

}  // namespace

std::filesystem::path worker_program() {
  const std::lock_guard lock(mutex);
  return chosen().empty() ? base::own_executable() : chosen();
}

void set_worker_program(const std::filesystem::path& program) {
  const std::lock_guard lock(mutex);
  chosen() = program;
}

}  // namespace xtune::target
