// Probing backends in a process of their own, and remembering what was found.
#include "core/run/inventory.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/backend.hpp"
#include "base/chosen_store.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "core/record/record_json.hpp"
#include "core/run/program.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::uint64_t probe_timeout_ms = 120'000;

void add_file_state(std::string& text, const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0)
    text += fmt::format("{} {} {}.{}\n", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/// Everything that, when it changes, may change what a probe finds.
std::string machine_state(const std::string& backend) {
  std::string text =
      backend + "\n" + read_if_there("/proc/sys/kernel/random/boot_id") + read_if_there("/proc/driver/nvidia/version");
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_HOME",
        "CUDA_PATH", "ROCM_PATH", "LD_LIBRARY_PATH", "PATH", "XTUNE_HOST_CXX", "CUDA_DEVICE_ORDER"})
    if (const char* value = std::getenv(name)) text += fmt::format("{}={}\n", name, value);
  add_file_state(text, worker_program().string());
  add_file_state(text, "/etc/ld.so.cache");
  for (const char* compiler : {"g++", "clang++"})
    if (const char* path = std::getenv("PATH")) {
      std::string_view rest = path;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        add_file_state(text, std::string(rest.substr(0, end)) + "/" + compiler);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("nvidia") || name == "kfd") text += name + "\n";
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) text += fmt::format("cpus {}\n", CPU_COUNT(&set));
  return text;
}

std::optional<std::filesystem::path> memory_path(const std::string& backend) {
  return place_in_default_store(std::filesystem::path("inventory") /
                                (backend + "-" + sha256(machine_state(backend)).substr(0, 16) + ".json"));
}

BackendState failed_probe(const std::string& name, const std::string& reason) {
  BackendState state;
  state.name = name;
  state.device_reason = state.toolchain_reason = "asking the driver failed: " + reason;
  return state;
}

BackendState ask(const std::string& name) {
  CommandOptions options;
  options.timeout_ms = probe_timeout_ms;
  const CommandResult result = run_command({worker_program().string(), "worker", "probe", "--backend", name}, options);
  if (!result.ok())
    return failed_probe(name,
                        (result.timed_out ? "no answer within 120 s" : describe_exit(result.exit_code, result.signal)) +
                            (result.stderr_text.empty() ? "" : ": " + printable(result.stderr_text, 500)));
  try {
    // A driver may print lines of its own first: the answer is the last line.
    std::string_view text = result.stdout_text;
    text = text.substr(0, text.find_last_not_of('\n') + 1);
    return backend_state_from_json(nlohmann::json::parse(text.substr(text.rfind('\n') + 1)));
  } catch (const nlohmann::json::exception& error) {
    return failed_probe(name, std::string("its answer cannot be read: ") + error.what());
  }
}

}  // namespace

BackendState probe_backend(const std::string& name) {
  BackendState state;
  state.name = name;
  try {
    const std::unique_ptr<Backend> backend = make_backend(name);
    DeviceList list = backend->list_devices();
    state.devices = std::move(list.devices);
    state.device_reason = std::move(list.reason);
    try {
      const std::unique_ptr<Toolchain> toolchain = backend->open_toolchain();
      state.toolchain = toolchain->fingerprint();
      state.default_arch = toolchain->default_arch();
    } catch (const Error& error) {
      state.toolchain_reason = error.what();
    }
  } catch (const Error& error) {
    state.device_reason = state.toolchain_reason = error.what();
  }
  return state;
}

nlohmann::json to_json(const BackendState& state) {
  nlohmann::json devices = nlohmann::json::array();
  for (const DeviceInfo& device : state.devices) devices.push_back(to_json(device));
  nlohmann::json json;
  json["name"] = state.name;
  json["devices"] = devices;
  json["device_reason"] = printable(state.device_reason);
  json["toolchain"] = printable(state.toolchain);
  json["toolchain_reason"] = printable(state.toolchain_reason);
  json["default_arch"] = state.default_arch;
  return json;
}

BackendState backend_state_from_json(const nlohmann::json& json) {
  BackendState state;
  state.name = json.at("name");
  for (const nlohmann::json& device : json.at("devices")) state.devices.push_back(device_info_from_json(device));
  state.device_reason = json.at("device_reason");
  state.toolchain = json.at("toolchain");
  state.toolchain_reason = json.at("toolchain_reason");
  state.default_arch = json.at("default_arch");
  return state;
}

BackendState find_backend(const std::string& name, bool fresh) {
  // Which Kokkos there is changes with files that only CMake knows how to find; the backend remembers what CMake said.
  if (name == "kokkos") return ask(name);
  const auto memory = memory_path(name);
  std::error_code ignored;
  if (!fresh && memory && std::filesystem::exists(*memory, ignored)) try {
      return backend_state_from_json(nlohmann::json::parse(read_trusted_file(*memory, 1 << 20)));
    } catch (const std::exception&) {
      // Damaged or of another version: ask again and write it anew.
    }
  BackendState state = ask(name);
  // A probe that failed may succeed the next time; it is not remembered. Nor must an unwritable cache stop anybody.
  if (memory && !state.device_reason.starts_with("asking the driver failed")) try {
      write_file_atomically(*memory, to_json(state).dump());
    } catch (const Error&) {
    }
  return state;
}

}  // namespace xtune
