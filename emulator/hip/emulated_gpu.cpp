#include "emulator/hip/emulated_gpu.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

#include "base/text.hpp"
#include "emulator/disassembler.hpp"
#include "emulator/program.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

constexpr const char* variable = "XTUNE_EMULATED_ARCH";
constexpr const char* usual_arch = "gfx942";

thread_local int chosen = 0;

/// named: "gfx942", or a target with features, "gfx942:sramecc+:xnack-", which do not change the emulated device.
device::DeviceModel model_of(const std::string& named) {
  if (const std::string complaint = device::feature_complaint(named); !complaint.empty())
    throw Error(ErrorKind::invalid_argument, fmt::format("{}={}: {}", variable, named, complaint));
  const std::string arch(device::without_features(named));
  std::optional<device::DeviceInfo> info;
  if (executes(arch)) info = device::known_device(device::emulated_arch(arch));
  if (!info) {
    std::vector<std::string> known;
    for (const std::string& one : device::known_archs())
      if (executes(one)) known.push_back(one);
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the emulator does not execute {}; it executes {}", arch, fmt::join(known, ", ")));
  }
  // Opens LLVM now: without it, a code object would be refused only when it is loaded.
  static_cast<void>(Disassembler(arch, info->warp_size));
  info->memory_bytes = static_cast<std::int64_t>(system::machine_memory_bytes());
  return device::device_model(*info);
}

}  // namespace

const std::vector<device::DeviceModel>& emulated_gpus() {
  static const std::vector<device::DeviceModel> gpus = [] {
    const char* const named = std::getenv(variable);
    std::vector<device::DeviceModel> found;
    for (const std::string& element : base::split(named && *named ? named : usual_arch, ',')) {
      const std::string arch(base::trimmed(element));
      if (arch.empty())
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("{}='{}' has an empty element (expected names, separated by commas: gfx90a,gfx1100)",
                                variable, named));
      found.push_back(model_of(arch));
    }
    return found;
  }();
  return gpus;
}

bool choose_gpu(int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= emulated_gpus().size()) return false;
  chosen = index;
  return true;
}

int current_gpu_index() noexcept { return chosen; }

const device::DeviceModel& current_gpu() { return emulated_gpus()[static_cast<std::size_t>(chosen)]; }

}  // namespace xtune::emulator
