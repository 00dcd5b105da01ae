// The backend "process" over the devices of other backends.
#include "core/target/program_target.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/environment.hpp"
#include "core/build/named_files.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/process_spec.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"

namespace xtune::target {
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

BackendState as_process(BackendState devices, const BackendState& process) {
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
    for (const spec::CompiledText::Part& part : spec.process->build.shell->word().text().parts()) text += part.before;
    words = system::shell_words(text);
  }
  const auto tool = std::find_if(words.begin(), words.end(), build::is_build_tool);
  if (tool == words.end()) return {};
  return fmt::format(
      "{}: [process] sources is empty, so xtune uses stored results even after a change of the sources "
      "that '{}' compiles: list them, such as sources = [\"src/*.cpp\"]",
      spec::to_string(spec.process->build.at), base::printable(*tool));
}

Target choose_target(const spec::Spec& spec, const TargetOptions& options) {
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
  const BackendState commands = find_backend("process", options.fresh);
  Target target;
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

}  // namespace xtune::target
