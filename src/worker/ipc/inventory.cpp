// Probes backends in a separate process, and caches the results.

#include <fmt/core.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/hash.hpp"
#include "base/json_fields.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/build/artifact.hpp"
#include "core/build/compiler_places.hpp"
#include "core/device/backend_facts.hpp"
#include "core/store/record.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"
#include "system/trust.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::worker {
namespace {

constexpr std::uint64_t probe_timeout_ms = 120'000;

void add_file_state(std::string& text, const std::string& path) {
  if (const std::string state = build::file_state(path); !state.empty()) text += path + " " + state + "\n";
}

std::vector<std::string> listed_folders(const char* variable) {
  const char* const value = std::getenv(variable);
  std::vector<std::string> folders = base::split(value ? value : "", ':');
  std::erase(folders, "");
  return folders;
}

/// The files of libraries, by the names that they are opened with; a link counts together with its target.
void add_library_states(std::string& text) {
  std::vector<std::string> loader = listed_folders("LD_LIBRARY_PATH");
  for (const char* name : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"})
    loader.emplace_back(name);
  const auto add = [&](const std::string& folder, const std::vector<std::string>& names) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) return;
    for (const std::string& name : names) add_file_state(text, folder + "/" + name);
  };
  const auto add_all = [&](const std::vector<std::filesystem::path>& folders, const std::vector<std::string>& names) {
    for (const std::filesystem::path& folder : folders) add(folder.string(), names);
    for (const std::string& folder : loader) add(folder, names);
  };
  std::vector<std::string> rocm{"libamd_comgr.so", "libamd_comgr.so.2", "libamd_comgr.so.3", "libhsa-runtime64.so.1"};
  for (const char* stem : {"amdhip64", "hiprtc"})
    for (const std::string& name : build::rocm_library_names(stem)) rocm.push_back(name);
  add_all(build::rocm_library_folders(), rocm);
  add_all(build::cuda_library_folders(), build::nvrtc_names());
  for (const std::filesystem::path& root : build::cuda_roots()) add((root / "include").string(), {"cuda_fp16.h"});
  add_all({}, {"libcuda.so.1", "libnvidia-ml.so.1"});
}

bool is_kokkos(const std::string& backend) {
  const device::BackendFacts* const facts = device::find_backend_facts(backend);
  return facts && facts->source == device::SourceKind::kokkos;
}

/// The variables on which the result of a probe may depend: of drivers, compilers, HIP, Kokkos and xtune.
void add_variables(std::string& text, const std::string& backend) {
  const auto add_all = [&](std::string_view names) {
    for (const std::string& name : base::split(names, ' '))
      if (const char* value = std::getenv(name.c_str())) text += fmt::format("{}={}\n", name, value);
  };
  add_all(
      "CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL CUDA_DEVICE_ORDER CUDA_HOME "
      "CUDA_PATH ROCM_PATH HIP_PATH HIP_DEVICE_LIB_PATH LD_LIBRARY_PATH LD_PRELOAD PATH VIRTUAL_ENV CONDA_PREFIX "
      "XTUNE_PYTHON_PACKAGES "
      "COMPILER_PATH GCC_EXEC_PREFIX LIBRARY_PATH XTUNE_HOST_CXX XTUNE_HIP_CXX NVCC_CCBIN NVCC_PREPEND_FLAGS "
      "NVCC_APPEND_FLAGS XTUNE_HIP_LIBRARY XTUNE_EMULATED_ARCH "
      "XTUNE_LLVM_LIBRARY");
  if (!is_kokkos(backend)) return;
  add_all(
      "Kokkos_DIR CMAKE_PREFIX_PATH CXXFLAGS LDFLAGS XTUNE_KOKKOS_CXX CUDA_ROOT NVCC_WRAPPER_DEFAULT_COMPILER "
      "XTUNE_KOKKOS_SPACE KOKKOS_NUM_THREADS OMP_NUM_THREADS");
  if (const char* root = std::getenv("Kokkos_ROOT"); root && *root)
    text += fmt::format("Kokkos_ROOT={}\n", std::filesystem::absolute(root).string());
}

/// The files by which nvcc and clang are found.
void add_compiler_places(std::string& text) {
  for (const char* name : {"XTUNE_HIP_LIBRARY", "XTUNE_LLVM_LIBRARY"})
    if (const char* library = std::getenv(name)) add_file_state(text, library);
  for (const std::string& compiler : build::nvcc_compilers()) add_file_state(text, compiler);
  for (const std::string& compiler : build::hip_compilers()) {
    add_file_state(text, compiler);
    for (const auto& root : build::hip_roots(compiler))
      add_file_state(text, (root / "include/hip/hip_runtime.h").string());
    for (const auto& folder : build::device_library_folders(compiler, {}))
      add_file_state(text, (folder / "ocml.bc").string());
  }
}

/// All facts on which the result of a probe may depend.
std::string machine_state(const std::string& backend) {
  std::string text = backend + "\n" + system::read_if_there("/proc/sys/kernel/random/boot_id") +
                     system::read_if_there("/proc/driver/nvidia/version");
  add_variables(text, backend);
  add_file_state(text, worker_program().string());
  add_file_state(text, "/etc/ld.so.cache");
  if (const char* compiler = std::getenv("XTUNE_HOST_CXX")) add_file_state(text, system::find_program(compiler));
  if (const std::string zig = build::zig_compiler(); !zig.empty()) add_file_state(text, zig);
  if (!device::compilers_of(backend).empty()) add_compiler_places(text);
  for (const char* compiler : {"g++", "clang++"})
    for (const std::string& folder : listed_folders("PATH")) add_file_state(text, folder + "/" + compiler);
  add_library_states(text);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename().string();
    struct stat info {};
    if ((name.starts_with("nvidia") || name == "kfd") && stat(entry.path().c_str(), &info) == 0)
      text += fmt::format("{} {} {} {}\n", name, info.st_mode, info.st_uid, info.st_gid);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) text += fmt::format("cpus {}\n", CPU_COUNT(&set));
  text += fmt::format("quota {}\n", system::cpu_quota_milli());
  return text;
}

std::optional<std::filesystem::path> memory_path(const std::string& backend) {
  return system::place_in_default_store(std::filesystem::path("inventory") /
                                        (backend + "-" + base::sha256(machine_state(backend)).substr(0, 16) + ".json"));
}

run::BackendState failed_probe(const std::string& name, const std::string& reason) {
  run::BackendState state;
  state.name = name;
  state.device_reason = state.toolchain_reason = "asking the driver failed: " + reason;
  state.device_failed = state.toolchain_failed = true;
  return state;
}

run::BackendState ask(const std::string& name, Probe probe = Probe::all) {
  system::CommandOptions options;
  options.timeout_ms = probe_timeout_ms;
  options.env = system::shared_folder_variables();
  for (const auto& variable : system::memory_variables()) options.env.push_back(variable);
  std::vector<std::string> argv{worker_program().string(), "worker", "probe", "--backend", name};
  if (probe == Probe::devices) argv.emplace_back("--devices-only");
  const system::CommandResult result = system::run_command(argv, options);
  if (!result.ok())
    return failed_probe(
        name, (result.timed_out ? "no answer within 120 s" : system::describe_exit(result.exit_code, result.signal)) +
                  (result.stderr_text.empty() ? "" : ": " + base::printable(result.stderr_text, 500)));
  try {
    // A driver may print lines before the answer, which is the last line.
    std::string_view text = result.stdout_text;
    text = text.substr(0, text.find_last_not_of('\n') + 1);
    return backend_state_from_json(nlohmann::json::parse(text.substr(text.rfind('\n') + 1)));
  } catch (const nlohmann::json::exception& error) {
    return failed_probe(name, "its answer cannot be read: " + base::json_error_text(error));
  }
}

namespace fields = base::fields;
using fields::optional, fields::required, fields::unless_empty;

constexpr auto parts_form = fields::Through{
    [](const build::ToolFiles& parts) {
      nlohmann::json json = build::to_json(parts.files);
      if (parts.may_start_others) json["may_start_others"] = true;
      return json;
    },
    [](const nlohmann::json& json) {
      return build::ToolFiles{build::keyed_files_from_json(json), json.value("may_start_others", false)};
    }};
constexpr auto device_form = fields::Through{[](const device::DeviceInfo& device) { return store::to_json(device); },
                                             store::device_info_from_json};
constexpr auto compiler_form = fields::object<run::CompilerState>(
    required("name", &run::CompilerState::name), required("toolchain", &run::CompilerState::toolchain, fields::text),
    required("reason", &run::CompilerState::reason, fields::text), optional("failed", &run::CompilerState::failed),
    required("default_arch", &run::CompilerState::default_arch),
    unless_empty("archs", &run::CompilerState::archs, fields::List{fields::text}),
    unless_empty("parts", &run::CompilerState::parts, parts_form));
constexpr auto place_form =
    fields::object<system::Search::Place>(required("path", &system::Search::Place::path, fields::text),
                                          required("reason", &system::Search::Place::reason, fields::text));
constexpr auto search_form =
    fields::object<system::Search>(required("what", &system::Search::what, fields::text),
                                   required("searched", &system::Search::places, fields::List{place_form}),
                                   required("taken", &system::Search::taken, fields::text));
constexpr auto state_form = fields::object<run::BackendState>(
    required("name", &run::BackendState::name),
    required("devices", &run::BackendState::devices, fields::List{device_form}),
    required("device_reason", &run::BackendState::device_reason, fields::text),
    optional("device_failed", &run::BackendState::device_failed),
    optional("driver_absent", &run::BackendState::driver_absent),
    optional("toolchain_failed", &run::BackendState::toolchain_failed),
    required("toolchain", &run::BackendState::toolchain, fields::text),
    required("toolchain_reason", &run::BackendState::toolchain_reason, fields::text),
    required("default_arch", &run::BackendState::default_arch),
    unless_empty("parts", &run::BackendState::toolchain_parts, parts_form),
    unless_empty("compilers", &run::BackendState::compilers, fields::List{compiler_form}),
    unless_empty("searches", &run::BackendState::searches, fields::List{search_form}));

/// Whether a file of any compiler was touched, or one may start other programs.
bool may_have_changed(const run::BackendState& state) {
  const auto changed = [](const build::ToolFiles& parts) {
    return parts.may_start_others || !build::are_untouched(parts.files);
  };
  return changed(state.toolchain_parts) ||
         std::any_of(state.compilers.begin(), state.compilers.end(),
                     [&](const run::CompilerState& compiler) { return changed(compiler.parts); });
}

/// Whether the state may be kept: no call failed, and changes of the compilers can be seen.
bool can_be_kept(const run::BackendState& state) {
  const auto open = [](const run::CompilerState& compiler) {
    return compiler.failed || compiler.parts.may_start_others;
  };
  return !state.device_failed && !state.toolchain_failed && !state.toolchain_parts.may_start_others &&
         std::none_of(state.compilers.begin(), state.compilers.end(), open);
}

}  // namespace

void set_compiler(run::BackendState& state, const run::CompilerState& compiler) {
  state.toolchain = compiler.toolchain;
  state.toolchain_reason = compiler.reason;
  state.toolchain_failed = compiler.failed;
  state.default_arch = compiler.default_arch;
  state.toolchain_parts = compiler.parts;
}

void select_compiler(run::BackendState& state, const std::string& name, const std::string& arch) {
  if (state.compilers.empty()) return;
  run::CompilerState none;
  const run::CompilerState* chosen = nullptr;
  bool fits = false;
  for (const run::CompilerState& compiler : state.compilers) {
    if (!name.empty() && name != "auto" && compiler.name != name) continue;
    none.reason += (none.reason.empty() ? "" : "; ") + compiler.name + ": " + compiler.reason;
    none.failed = none.failed || compiler.failed;
    if (compiler.toolchain.empty() || fits) continue;
    fits = device::knows_arch(compiler.archs, arch);
    if (fits || !chosen) chosen = &compiler;
  }
  set_compiler(state, chosen ? run::CompilerState(*chosen) : none);
}

nlohmann::json to_json(const run::BackendState& state) { return state_form.to_json(state); }
run::BackendState backend_state_from_json(const nlohmann::json& json) { return state_form.from_json(json); }

run::BackendState find_backend(const std::string& name, bool fresh) {
  if (system::cache_disabled()) return ask(name);
  const auto memory = memory_path(name);
  std::error_code ignored;
  if (!fresh && memory && std::filesystem::exists(*memory, ignored)) try {
      run::BackendState known =
          backend_state_from_json(nlohmann::json::parse(system::read_trusted_file(*memory, 1 << 20)));
      if (!may_have_changed(known)) return known;
    } catch (const std::exception&) {
      // damaged or of another version: probe again and replace it
    }
  run::BackendState state = ask(name);
  // A call that failed may succeed the next time.
  if (memory && can_be_kept(state)) system::remember(*memory, to_json(state).dump());
  return state;
}

run::BackendState find_devices(const std::string& name) { return ask(name, Probe::devices); }

void forget_backend(const std::string& name) noexcept {
  try {
    std::error_code ignored;
    if (const auto memory = memory_path(name)) std::filesystem::remove(*memory, ignored);
  } catch (const std::exception&) {  // not cached: the next run probes again
  }
}

}  // namespace xtune::worker
