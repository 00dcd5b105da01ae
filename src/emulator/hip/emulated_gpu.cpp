#include "emulator/hip/emulated_gpu.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

#include "base/memory.hpp"
#include "emulator/disassembler.hpp"
#include "emulator/program.hpp"
#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

constexpr const char* variable = "XTUNE_EMULATED_ARCH";
constexpr const char* usual_arch = "gfx942";

std::string chosen_arch() {
  const char* const named = std::getenv(variable);
  return named && *named ? named : usual_arch;
}

device::DeviceModel model_of(const std::string& arch) {
  std::optional<device::DeviceInfo> info;
  if (executes(arch)) info = device::known_device(device::emulated_arch(arch));
  if (!info) {
    std::vector<std::string> known;
    for (const std::string& one : device::known_archs())
      if (executes(one)) known.push_back(one);
    throw Error(ErrorKind::invalid_argument, fmt::format("{}={}: the emulator does not execute this architecture; it "
                                                         "executes {}",
                                                         variable, arch, fmt::join(known, ", ")));
  }
  // Opens LLVM now: without it, a code object would be refused only when it is loaded.
  static_cast<void>(Disassembler(arch, info->warp_size));
  info->memory_bytes = static_cast<std::int64_t>(base::machine_memory_bytes());
  return device::device_model(*info);
}

}  // namespace

const device::DeviceModel& emulated_gpu() {
  static const device::DeviceModel model = model_of(chosen_arch());
  return model;
}

std::string emulated_code_arch() { return device::code_arch(emulated_gpu().info.arch); }

}  // namespace xtune::emulator
