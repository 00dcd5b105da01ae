// What a driver and workers on other machines tell each other.
#include "api/remote.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "api/workers.hpp"
#include "base/json_text.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/record.hpp"
#include "dispatch/spec_files.hpp"
#include "worker/ipc/installed.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

namespace xtune {

DescribedTarget describe(const run::Target& target) {
  run::BackendState backend = target.backend;
  backend.devices.clear();
  backend.compilers.clear();
  backend.searches.clear();
  backend.toolchain_parts = {};
  const nlohmann::json json{{"backend", worker::to_json(backend)},
                            {"device", store::to_json(target.device)},
                            {"arch", target.arch},
                            {"own_memory", target.own_memory},
                            {"no_gpu", target.no_gpu}};
  const device::DeviceInfo& device = target.device;
  std::string kind = fmt::format("{}, {}, {}", resolve::device_part(device), device.driver, backend.toolchain);
  if (const std::string quota = resolve::cpu_quota_part(device); !quota.empty()) kind += ", " + quota + " CPUs";
  return {std::move(kind), json.dump()};
}

run::Target described_target(const std::string& text) try {
  const nlohmann::json json = nlohmann::json::parse(text);
  run::Target target;
  target.backend = worker::backend_state_from_json(json.at("backend"));
  target.device = store::device_info_from_json(json.at("device"));
  target.arch = json.at("arch").get<std::string>();
  target.own_memory = json.at("own_memory").get<bool>();
  target.no_gpu = json.at("no_gpu").get<std::string>();
  return target;
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorKind::invalid_argument, "the description of a worker's device: " + base::json_error_text(error));
}

PackedSpec pack_spec(const std::filesystem::path& given) {
  std::filesystem::path path = given;
  if (worker::is_spec_name(given)) {
    find_worker_program();  // beside which the specs are
    path = worker::shipped_spec(given);
  }
  store::BundledSpec packed = dispatch::pack_spec(path);
  return {std::move(packed.spec), std::move(packed.files)};
}

}  // namespace xtune
