// The program of the workers. The emulator is a library in the place of HIP's; its variables reach the workers through
// the environment.
#include "core/target/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "core/target/inventory.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::target {
namespace {

std::mutex mutex;
/// Never destroyed: threads may still tune when the program ends.
std::filesystem::path& chosen() {
  static auto& path = *new std::filesystem::path;
  return path;
}

constexpr const char* library_variable = "XTUNE_HIP_LIBRARY";

/// Beside the program, as it was installed or built. Throws Error(unavailable).
std::filesystem::path installed_emulator() {
  const std::filesystem::path beside =
      (worker_program().parent_path() / XTUNE_EMULATOR_FROM_PROGRAM).lexically_normal();
  std::error_code ignored;
  for (const std::filesystem::path& place : {beside, std::filesystem::path(XTUNE_BUILT_EMULATOR)})
    if (std::filesystem::is_regular_file(place, ignored)) return place;
  throw Error(ErrorKind::unavailable,
              fmt::format("the emulator of AMD GPUs is not installed: there is no {}. Install xtune's component "
                          "'emulator' (docs/emulator.md), or name its library by {}",
                          beside.string(), library_variable));
}

}  // namespace

std::filesystem::path worker_program() {
  const std::lock_guard lock(mutex);
  return chosen().empty() ? system::own_executable() : chosen();
}

void set_worker_program(const std::filesystem::path& program) {
  const std::lock_guard lock(mutex);
  chosen() = program;
}

bool needs_emulator(const std::string& arch) {
  const auto known = device::known_device(arch);
  if (!known || known->vendor != "amd") return false;
  const BackendState hip = find_backend("hip", false);
  return std::none_of(hip.devices.begin(), hip.devices.end(), [&](const device::DeviceInfo& device) {
    return device::base_arch(device.arch) == device::base_arch(arch);
  });
}

void use_emulator(const std::string& arch) {
  const char* const named = std::getenv(library_variable);
  if (!named || !*named) setenv(library_variable, installed_emulator().c_str(), 1);
  setenv("XTUNE_EMULATED_ARCH", std::string(device::base_arch(arch)).c_str(), 1);
}

}  // namespace xtune::target
