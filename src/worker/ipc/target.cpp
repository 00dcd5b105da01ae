// Chooses the backend and device to tune for: for kernels, and for programs, whose backend "process" has the devices of
// other backends. The emulator is a library in the place of HIP's; its variables reach the workers through the
// environment.
#include "worker/ipc/target.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <mutex>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/environment.hpp"
#include "core/build/named_files.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/process_spec.hpp"
#include "core/store/best.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

namespace {

/// A compiler is enough: for compiling, and if the user names the backend or the architecture.
bool without_device(const TargetOptions& options) {
  if (options.need == TargetNeed::device_or_named) return !device::is_choice(options.backend) || !options.arch.empty();
  return options.need == TargetNeed::compiler;
}

bool usable(const run::BackendState& state, bool need_device) {
  return !state.toolchain.empty() && !(need_device && state.devices.empty());
}

std::string lack_of(const run::BackendState& state) {
  if (state.devices.empty()) return state.name + ": " + state.device_reason;
  return state.name + ": " + state.toolchain_reason;
}

/// Why a backend's GPU is not used, without advice; the clearest reason of several has the highest rank: the GPU that
/// is there and cannot be compiled for, the driver that fails, the driver without a device, no driver.
struct NoGpu {
  int rank = -1;
  std::string text;
};

NoGpu no_gpu_of(const run::BackendState& state) {
  const auto opening = [](const std::string& reason) {
    return base::printable(reason.substr(0, std::min(reason.find(": "), reason.find(" ("))), 100);
  };
  if (!state.devices.empty())
    return {3, fmt::format("no compiler for {} ({})", state.devices[0].name, opening(state.toolchain_reason))};
  if (state.device_failed) return {2, fmt::format("no GPU ({})", base::printable(state.device_reason, 300))};
  return {state.driver_absent ? 0 : 1, fmt::format("no GPU ({})", opening(state.device_reason))};
}

device::DeviceInfo known_or_error(const std::string& arch) {
  if (const std::string complaint = device::feature_complaint(arch); !complaint.empty())
    throw Error(ErrorKind::invalid_argument, "architecture '" + arch + "': " + complaint);
  if (auto device = device::known_device(arch)) return *device;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("unknown architecture '{}'{}; known: {}", arch, device::did_you_mean_arch(arch),
                          fmt::join(device::known_archs(), ", ")));
}

/// `named`: the user has named the backend; else the architecture determined it, and this build has no other for it, as
/// where hip was built for NVIDIA GPUs.
device::DeviceInfo device_for_arch(const run::BackendState& backend, const std::string& arch, bool named) {
  device::DeviceInfo device = known_or_error(arch);
  const auto usual = device::known_device(backend.default_arch);
  const std::string vendor = usual ? usual->vendor : "cpu";
  if (device.vendor != vendor)
    throw Error(
        named ? ErrorKind::invalid_argument : ErrorKind::unavailable,
        fmt::format("backend {1} does not compile for architecture '{0}'; it compiles for {2}", arch, backend.name,
                    vendor == "cpu"   ? "CPUs"
                    : vendor == "amd" ? "AMD GPUs"
                                      : "NVIDIA GPUs"));
  device.backend = backend.name;
  return device;
}

/// The first suitable backend. Throws Error(unavailable).
void choose_backend(const TargetOptions& options, run::Target& target) {
  std::vector<std::string> names = device::backends_for(options.backend);
  // An architecture determines its vendor's backend without a driver.
  if (const auto device = device::known_device(options.arch); device && device::is_choice(options.backend)) {
    if (options.backend == "gpu" && device::is_cpu(*device))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("architecture '{}' is a CPU's, and backend gpu stands for GPUs", options.arch));
    names = {device::backend_of_vendor(device->vendor)};
  }
  device::require_compiler(options.backend, options.compiler);
  if (!options.compiler.empty() && options.compiler != "auto")
    std::erase_if(names, [&](const std::string& name) {
      const std::vector<std::string> own = device::compilers_of(name);
      return std::find(own.begin(), own.end(), options.compiler) == own.end();
    });
  const bool compiler_alone = without_device(options);
  std::optional<run::BackendState> fallback;
  std::vector<std::string> reasons;
  NoGpu no_gpu;
  for (const std::string& name : names) {
    run::BackendState state = find_backend(name, options.fresh);
    select_compiler(state, options.compiler, options.arch);
    // Every machine has a CPU: it must not hide the compilers for GPUs of other machines.
    const bool is_gpu = !state.devices.empty() && !device::is_cpu(state.devices[0]);
    if (usable(state, true) && (is_gpu || !fallback)) {
      if (!is_gpu) target.no_gpu = no_gpu.text;
      target.backend = std::move(state);
      return;
    }
    if (compiler_alone && !fallback && usable(state, false)) {
      fallback = std::move(state);
      continue;
    }
    reasons.push_back(compiler_alone ? name + ": " + state.toolchain_reason : lack_of(state));
    if (NoGpu own = no_gpu_of(state); own.rank > no_gpu.rank) no_gpu = std::move(own);
  }
  if (fallback) {
    target.backend = std::move(*fallback);
    return;
  }
  std::string message = compiler_alone ? "no usable compiler" : "no usable device";
  for (const std::string& reason : reasons) message += "\n  " + reason;
  throw Error(ErrorKind::unavailable, message);
}

}  // namespace

std::vector<device::DeviceInfo> choose_devices(const run::BackendState& backend, const std::vector<int>& indices) {
  const std::vector<device::DeviceInfo>& present = backend.devices;
  std::vector<device::DeviceInfo> chosen;
  if (indices.empty()) {
    std::copy_if(present.begin(), present.end(), std::back_inserter(chosen),
                 [&](const device::DeviceInfo& device) { return store::same_device(device, present.front()); });
    return chosen;
  }
  for (const int index : indices) {
    if (index < 0 || static_cast<std::size_t>(index) >= present.size())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("device {}: backend {} has {} (0 to {})", index, backend.name,
                              base::counted(present.size(), "device"), present.size() - 1));
    const device::DeviceInfo& device = present[static_cast<std::size_t>(index)];
    if (std::count(indices.begin(), indices.end(), index) > 1)
      throw Error(ErrorKind::invalid_argument, fmt::format("device {} is named twice", index));
    if (!chosen.empty() && !store::same_device(device, chosen.front()))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("device {} ({}, {}, {} compute units) is of another kind than device {} ({}, "
                              "{}, {}); tune each kind in its own run",
                              device.index, device.name, device.arch, device.compute_units, chosen.front().index,
                              chosen.front().name, chosen.front().arch, chosen.front().compute_units));
    chosen.push_back(device);
  }
  return chosen;
}

run::Target choose_target(const TargetOptions& options) {
  run::Target target;
  choose_backend(options, target);
  const run::BackendState& backend = target.backend;
  if (!backend.devices.empty()) {
    target.further = choose_devices(backend, options.devices);
    target.device = target.further.front();
    target.further.erase(target.further.begin());
  } else {
    target.present = false;
    target.assumed_arch = options.arch.empty();
    target.device = device_for_arch(backend, target.assumed_arch ? backend.default_arch : options.arch,
                                    !device::is_choice(options.backend));
  }
  target.arch = options.arch.empty() ? device::code_arch(target.device) : device::code_arch(options.arch);
  select_compiler(target.backend, options.compiler, target.arch);
  // "sm_90a" on an sm_90 is the same device, and so is "gfx90a:xnack+" on a gfx90a; any other architecture is another
  // device, known only by its facts. So is "gfx942" on an emulated one; but not the other way round.
  const std::string_view plain = device::without_features(target.arch);
  const bool same = (plain == target.device.arch || plain == device::code_arch(target.device)) &&
                    (!device::is_emulated(options.arch) || device::is_emulated(target.device));
  if (target.present && !same) {
    known_or_error(options.arch);
    if (options.need == TargetNeed::device)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--arch {}: the device here is {} ({}), and kernels are executed only on it", target.arch,
                              target.device.arch, target.device.name));
    target.present = false;
    target.further.clear();
    target.device = device_for_arch(backend, options.arch, !device::is_choice(options.backend));
  }
  const device::BackendFacts* const facts = device::find_backend_facts(target.backend.name);
  target.own_memory = facts && facts->memory == device::ArgumentMemory::device;
  return target;
}

namespace {

// A compiler's driver has a few megabytes.
constexpr std::uint64_t largest_program = std::uint64_t{256} << 20;

[[noreturn]] void refuse_missing(const spec::Spec& spec, const spec::ProcessCommand& command,
                                 const std::string& program) {
  const bool path = program.find('/') != std::string::npos;
  throw Error(ErrorKind::unavailable, fmt::format("{}: {} is {}", spec::to_string(command.at), base::printable(program),
                                                  path ? "not an executable program (paths are relative to " +
                                                             spec.process->folder.string() + ")"
                                                       : "not in PATH: install it, load its module, or give its path"));
}

/// Empty: it differs between configurations, or it is made by the build.
std::string found(const spec::Spec& spec, const spec::ProcessCommand& command) {
  const std::string text = command.program();
  if (text.empty() || text.find("{out}") != std::string::npos || text.find("{tmp}") != std::string::npos) return {};
  const std::string program = device::from_call_text(text, {});
  const std::string path = system::find_program(program, spec.process->folder);
  if (path.empty()) refuse_missing(spec, command, program);
  return path;
}

run::BackendState as_process(run::BackendState devices, const run::BackendState& process) {
  devices.name = process.name;
  for (device::DeviceInfo& device : devices.devices) device.backend = process.name;
  return devices;
}

}  // namespace

std::string build_fingerprint(const spec::Spec& spec) {
  const spec::ProcessSpec& process = *spec.process;
  std::string text = "commands of the spec";
  if (const std::string path = found(spec, process.build); !path.empty())
    text = fmt::format("{} sha256:{}", std::filesystem::path(path).filename().string(),
                       base::sha256(system::read_file(path, largest_program)).substr(0, 16));
  if (!process.build.given()) return text;
  std::map<std::string, std::string> set = build::set_variables(
      {build::VariableReader::make, build::VariableReader::folders, build::VariableReader::compiler},
      process.environment);
  for (const auto& [name, word] : process.build_env) set.erase(name);
  for (const auto& [name, value] : set) text += fmt::format(", {}={}", name, base::printable(value));
  return text;
}

void require_programs(const spec::Spec& spec) {
  const spec::ProcessSpec& process = *spec.process;
  for (const spec::ProcessCommand* command : {&process.exec_prefix, &process.run, &process.check})
    found(spec, *command);
}

std::string warning_of_unknown_sources(const spec::Spec& spec) {
  if (!spec.process || !spec.process->sources.empty()) return {};
  std::vector<std::string> words{spec.process->build.program()};
  if (spec.process->build.shell) {
    std::string text;
    for (const spec::CompiledText::Part& part : spec.process->build.words.front().text().parts()) text += part.before;
    words = system::shell_words(text);
  }
  const auto tool = std::find_if(words.begin(), words.end(), build::is_build_tool);
  if (tool == words.end()) return {};
  return fmt::format(
      "{}: [process] sources is empty, so xtune uses stored results even after a change of the sources "
      "that '{}' compiles: list them, such as sources = [\"src/*.cpp\"]",
      spec::to_string(spec.process->build.at), base::printable(*tool));
}

run::Target choose_target(const spec::Spec& spec, const TargetOptions& options) {
  if (!spec.process) {
    if (options.backend == "process")
      throw Error(ErrorKind::invalid_argument,
                  "--backend process runs programs, and the spec has no [process]: it is about a kernel");
    return choose_target(options);
  }
  if (options.backend != "auto" && options.backend != "process")
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--backend {}: the spec has [process], a program, which no backend of kernels "
                            "runs; [process] device says what it runs on",
                            base::printable(options.backend, 80)));
  device::require_compiler("process", options.compiler);
  const spec::ProcessSpec& process = *spec.process;
  const run::BackendState commands = find_backend("process", options.fresh);
  run::Target target;
  target.backend =
      process.device == "host" ? commands : as_process(find_backend(process.device, options.fresh), commands);
  target.backend.toolchain = build_fingerprint(spec);
  if (options.need == TargetNeed::device) {
    require_programs(spec);
    if (target.backend.devices.empty())
      throw Error(ErrorKind::unavailable, fmt::format("{}: no device for the program: {}", spec::to_string(process.at),
                                                      target.backend.device_reason));
  }
  const bool other_arch =
      !options.arch.empty() && (target.backend.devices.empty() || target.backend.devices.front().arch != options.arch);
  if (other_arch && options.need == TargetNeed::device)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--arch {}: a program runs on the devices that are here; its build command says what it is "
                            "built for",
                            options.arch));
  if (!other_arch && !target.backend.devices.empty()) {
    target.further = choose_devices(target.backend, options.devices);
    target.device = target.further.front();
    target.further.erase(target.further.begin());
  } else {
    target.present = false;
    target.assumed_arch = options.arch.empty();
    const std::string arch = options.arch.empty() ? target.backend.default_arch : options.arch;
    const auto known = device::known_device(arch);
    if (!known)
      throw Error(ErrorKind::invalid_argument, fmt::format("unknown architecture '{}'{}", base::printable(arch, 80),
                                                           device::did_you_mean_arch(arch)));
    target.device = *known;
    target.device.backend = target.backend.name;
  }
  target.arch = target.device.arch;
  return target;
}

namespace {

std::mutex mutex;
/// Never destroyed: threads may still tune when the program ends.
std::filesystem::path& chosen() {
  static auto& path = *new std::filesystem::path;
  return path;
}

constexpr const char* library_variable = "XTUNE_HIP_LIBRARY";

}  // namespace

std::filesystem::path worker_program() {
  const std::lock_guard lock(mutex);
  return chosen().empty() ? system::own_executable() : chosen();
}

void set_worker_program(const std::filesystem::path& program) {
  const std::lock_guard lock(mutex);
  chosen() = program;
}

/// As it was installed, in the Python package beside the program, or as it was built.
std::filesystem::path installed_emulator() {
  const std::filesystem::path beside =
      (worker_program().parent_path() / XTUNE_EMULATOR_FROM_PROGRAM).lexically_normal();
  std::error_code ignored;
  for (const std::filesystem::path& place :
       {beside, worker_program().parent_path() / beside.filename(), std::filesystem::path(XTUNE_BUILT_EMULATOR)})
    if (std::filesystem::is_regular_file(place, ignored)) return place;
  const std::filesystem::path build =
      std::filesystem::path(XTUNE_BUILT_EMULATOR).parent_path().parent_path().parent_path();
  const bool is_built_here = !worker_program().lexically_relative(build).empty() &&
                             *worker_program().lexically_relative(build).begin() != "..";
  throw Error(ErrorKind::unavailable,
              is_built_here
                  ? fmt::format("the emulator of AMD GPUs is not built yet. Build it: cmake --build {} --target "
                                "xtune_amdhip64 (docs/emulator.md lists what it needs)",
                                build.string())
                  : fmt::format("the emulator of AMD GPUs is not installed: there is no {}. Install xtune's component "
                                "'emulator' (docs/emulator.md), or name its library by {}",
                                beside.string(), library_variable));
}

bool needs_emulator(const std::string& arch) {
  const auto known = device::known_device(arch);
  if (!known || known->vendor != "amd") return false;
  const run::BackendState hip = find_backend("hip", false);
  return std::none_of(hip.devices.begin(), hip.devices.end(), [&](const device::DeviceInfo& device) {
    return device::base_arch(device.arch) == device::base_arch(arch);
  });
}

void use_emulator(const std::string& arch) {
  const char* const named = std::getenv(library_variable);
  if (!named || !*named) setenv(library_variable, installed_emulator().c_str(), 1);
  setenv("XTUNE_EMULATED_ARCH", std::string(device::base_arch(arch)).c_str(), 1);
}

}  // namespace xtune::worker
