// HIP's calls for modules and kernels. A launch is executed before its call returns.
#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <vector>

#include "backends/gpu/code_object.hpp"
#include "emulator/decode.hpp"
#include "emulator/hip/emulated_gpu.hpp"
#include "emulator/hip/runtime_state.hpp"
#include "emulator/hip/simulated_time.hpp"
#include "system/machine.hpp"
#include "system/parallel.hpp"

namespace xtune::emulator {

struct EmulatedFunction {
  const EmulatedModule* module = nullptr;
  std::string symbol;
  gpu::KernelMetadata metadata;
};

struct EmulatedModule {
  const device::DeviceModel* gpu;
  std::string image;
  Program program;
  std::map<std::string, EmulatedFunction> functions;  ///< those that were asked for
  std::vector<Variable> variables;                    ///< likewise
};

namespace {

/// nullptr: unknown, or unloaded.
EmulatedModule* module_of(const RuntimeState& state, hipModule_t handle) {
  const auto found = state.modules.find(handle);
  return found == state.modules.end() ? nullptr : found->second.get();
}
const EmulatedFunction* function_of(hipFunction_t handle) { return reinterpret_cast<EmulatedFunction*>(handle); }

/// An ELF file in memory whose length the caller does not give. Empty: it is not one.
std::string_view elf_at(const void* image) {
  Elf64_Ehdr header;
  if (!image || std::memcmp(image, ELFMAG, SELFMAG) != 0) return {};
  std::memcpy(&header, image, sizeof header);
  std::size_t bytes = std::max(header.e_shoff + std::size_t{header.e_shnum} * sizeof(Elf64_Shdr),
                               header.e_phoff + std::size_t{header.e_phnum} * sizeof(Elf64_Phdr));
  const char* const begin = static_cast<const char*>(image);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, begin + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) bytes = std::max<std::size_t>(bytes, section.sh_offset + section.sh_size);
  }
  return {begin, bytes};
}

hipError_t load(RuntimeState& state, hipModule_t* handle, const void* image) {
  const std::string_view bytes = elf_at(image);
  if (bytes.empty()) return hipErrorInvalidImage;
  const std::string arch = gpu::code_object_arch(bytes), own = device::code_arch(current_gpu().info.arch);
  if (arch != own)
    return failed(hipErrorNoBinaryForGpu,
                  fmt::format("the code object is for '{}', and the emulated GPU is {}", arch, own));
  try {
    auto module = std::make_shared<EmulatedModule>(
        EmulatedModule{&current_gpu(), std::string(bytes), Program::load(bytes, own), {}, {}});
    *handle = reinterpret_cast<hipModule_t>(module.get());
    state.modules.emplace(*handle, std::move(module));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_argument) throw;
    return failed(hipErrorInvalidImage, error.what());
  }
  return hipSuccess;
}

hipError_t find_function(hipFunction_t* handle, EmulatedModule* module, const char* symbol) {
  if (!module) return hipErrorInvalidHandle;
  if (!symbol) return hipErrorInvalidValue;
  auto metadata = gpu::kernel_metadata(module->image, symbol);
  const std::vector<std::string> kernels = module->program.kernels();
  if (!metadata || std::find(kernels.begin(), kernels.end(), symbol) == kernels.end()) return hipErrorNotFound;
  EmulatedFunction& function = module->functions[symbol];
  function = {module, symbol, std::move(*metadata)};
  *handle = reinterpret_cast<hipFunction_t>(&function);
  return hipSuccess;
}

hipError_t attribute_of(int* value, const EmulatedFunction& function, hipFunction_attribute which) {
  const build::ResourceUsage& usage = function.metadata.usage;
  switch (which) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = usage.max_threads_per_block.value_or(function.module->gpu->info.max_threads_per_block);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *value = usage.registers.value_or(0);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(usage.static_shared_bytes.value_or(0));
      return hipSuccess;
    default:
      return hipErrorInvalidValue;
  }
}

/// The values that `parameters` points at, at their places.
std::vector<std::byte> arguments_of(const gpu::KernelMetadata& kernel, void** parameters) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < kernel.parameter_bytes.size(); ++i) {
    const std::size_t begin = kernel.parameter_offsets[i], size = kernel.parameter_bytes[i];
    if (bytes.size() < begin + size) bytes.resize(begin + size);
    std::memcpy(bytes.data() + begin, parameters[i], size);
  }
  return bytes;
}

/// Executes the launch, or adds it to the graph for which the stream is captured.
hipError_t launch(RuntimeState& state, const EmulatedFunction* function, const Launch& launch, hipStream_t stream,
                  void** parameters) {
  if (!function || (!parameters && !function->metadata.parameter_bytes.empty())) return hipErrorInvalidValue;
  const int bound = function->metadata.usage.max_threads_per_block.value_or(0);
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (bound > 0 && threads > static_cast<unsigned>(bound))  // as ROCm does it
    return failed(
        hipErrorLaunchFailure,
        fmt::format("kernel '{}' has launch bounds of {} threads, and the block has {}; use a smaller block, or "
                    "larger __launch_bounds__",
                    function->symbol, bound, threads));
  PreparedLaunch prepared{function, launch, arguments_of(function->metadata, parameters)};
  const auto capture = state.captures.find(stream);
  if (capture == state.captures.end()) return execute(state, prepared);
  capture->second.emplace_back([prepared](RuntimeState& at_launch) { return execute(at_launch, prepared); });
  return hipSuccess;
}

std::int64_t first_place_ms() {
  const char* const named = std::getenv(device::emulated_place_variable);
  return std::max(named ? std::atoi(named) : 4000, 1);
}

/// Writes to stderr where a launch is after a time, and after each doubling of it. A driver that ends the process
/// because the launch takes too long reports the last of these lines: it is never older than half of the time.
class SlowLaunch {
 public:
  void look(const std::function<std::string()>& place) {
    const auto passed = std::chrono::steady_clock::now() - begin_;
    std::int64_t limit = limit_ms_;
    if (passed < std::chrono::milliseconds(limit) || !limit_ms_.compare_exchange_strong(limit, 2 * limit)) return;
    // In one piece: the process may be ended at any time.
    const std::string line =
        fmt::format("{}after {:g} s: {}\n", device::emulated_place_line, static_cast<double>(limit) * 1e-3, place());
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> limit_ms_{first_place_ms()};
};

/// As Program::launch. Each thread has an equal part of the workgroups. All parts run at the same time, so that kernels
/// whose workgroups wait for each other end. If some of them fail, the error is the one of the first.
Report launch_in_threads(const Program& program, const Launch& launch, const Memory& memory) {
  const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const auto parts = static_cast<std::size_t>(std::clamp<std::uint64_t>(groups, 1, system::usable_cpus()));
  struct Share {
    Report report;
    std::exception_ptr error;
  };
  std::vector<Share> done(parts);
  std::atomic<bool> stop{false};
  SlowLaunch slow;
  system::for_each_index(parts, static_cast<unsigned>(parts), [&](std::size_t i) {
    Launch own = launch;
    own.stop = &stop;
    own.watch = [&slow](const std::function<std::string()>& place) { slow.look(place); };
    own.first_group = groups * i / parts;
    own.groups = groups * (i + 1) / parts - own.first_group;
    try {
      done[i].report = program.launch(own, memory);
    } catch (...) {
      done[i].error = std::current_exception();
      stop = true;
    }
  });
  Report report;
  for (const Share& part : done) {
    if (part.error) std::rethrow_exception(part.error);
    report += part.report;
  }
  return report;
}

}  // namespace

hipError_t execute(RuntimeState& state, const PreparedLaunch& prepared) {
  Launch launch = prepared.launch;
  launch.kernel = prepared.function->symbol;
  launch.arguments = prepared.arguments;
  const EmulatedModule& module = *prepared.function->module;
  const Report report = launch_in_threads(module.program, launch, state.memory);
  if (!report.unwritten_reads.empty() && state.noted.insert(launch.kernel).second) {
    const std::string line = fmt::format("{}note: {}; no result depends on it\n", device::emulated_place_line,
                                         report.unwritten_reads.begin()->second);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  state.clock_ms += simulated_ms(report, *module.gpu);
  return hipSuccess;
}

}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

/// The instructions of a kernel, or what is wrong. Not HIP's: for `xtune show --isa`.
bool xtune_list_instructions(const char* image, std::size_t bytes, const char* arch, const char* kernel,
                             void (*take)(void* context, const char* text), void* context) try {
  take(context, listing({image, bytes}, arch, kernel).c_str());
  return true;
} catch (const std::exception& error) {
  take(context, error.what());
  return false;
}

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return answer([&](RuntimeState& state) { return load(state, module, image); });
}

hipError_t hipModuleUnload(hipModule_t handle) {
  return answer([&](RuntimeState& state) {
    const EmulatedModule* const module = module_of(state, handle);
    if (!module) return hipErrorInvalidHandle;
    for (const Variable& one : module->variables) state.variables.remove(one.address);
    state.modules.erase(handle);
    return hipSuccess;
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* symbol) {
  return answer([&](RuntimeState& state) { return find_function(function, module_of(state, module), symbol); });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, std::size_t* bytes, hipModule_t handle, const char* symbol) {
  return answer([&](RuntimeState& state) {
    EmulatedModule* const module = module_of(state, handle);
    if (!module) return hipErrorInvalidHandle;
    if (!symbol) return hipErrorInvalidValue;
    const auto variable = module->program.variable(symbol);
    if (!variable) return hipErrorNotFound;
    module->variables.push_back(*variable);
    state.variables.remove(variable->address);
    state.variables.add(variable->address, variable->bytes);
    if (address) *address = reinterpret_cast<hipDeviceptr_t>(variable->address);
    if (bytes) *bytes = variable->bytes;
    return hipSuccess;
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute which, hipFunction_t function) {
  return answer([&](RuntimeState&) {
    return function ? attribute_of(value, *function_of(function), which) : hipErrorInvalidHandle;
  });
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 hipStream_t stream, void** parameters, void** extra) {
  return answer([&](RuntimeState& state) {
    if (extra) return hipErrorNotSupported;
    Launch wanted;
    wanted.grid = {grid_x, grid_y, grid_z};
    wanted.block = {block_x, block_y, block_z};
    wanted.dynamic_lds = shared_bytes;
    return launch(state, function_of(function), wanted, stream, parameters);
  });
}

}  // extern "C"
