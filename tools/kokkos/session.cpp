// The shared state of the connector.
#include "tools/kokkos/session.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "backends/cpu/cpu.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/store/record.hpp"
#include "system/chosen_store.hpp"
#include "system/descriptor.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos_tools {
namespace {

constexpr std::size_t max_warnings = 20;
constexpr std::size_t max_space = std::size_t{1} << 40;

/// The name of a parameter: a variable's, without the kernel's name in front. Keys use '=' between name and value.
std::string parameter_name(const std::string& variable, const std::string& kernel) {
  std::string name = variable;
  if (name.size() > kernel.size() + 1 && name.starts_with(kernel) && name[kernel.size()] == '_')
    name.erase(0, kernel.size() + 1);
  for (char& letter : name)
    if (letter == '=') letter = ':';
  return name;
}

}  // namespace

const std::vector<abi::Value>& Region::values_for(std::uint64_t index) {
  if (values_of == Choice(index)) return values;
  const space::Config config = tuner->space().at(index);
  values.assign(config.size(), {});
  for (std::size_t i = 0; i < config.size(); ++i) write_value(types[i], config[i], values[i]);
  values_of = index;
  return values;
}

Session::Session(Settings settings, KokkosFunctions functions, abi::RequestValues request_values, system::Clock& clock)
    : settings_(std::move(settings)),
      functions_(functions),
      request_values_(request_values),
      clock_(clock),
      attempt_(store::new_attempt()) {
  for (const std::string& complaint : settings_.complaints) warn(complaint);
  try {
    if (system::kept_in_store() == system::Kept::all) store_ = system::chosen_store({});
  } catch (const std::exception& failure) {
    stop_storing(failure.what());
  }
}

const Configuration& Session::configuration() {
  if (!configuration_) configuration_ = read_configuration(functions_);
  return *configuration_;
}

bool Session::show(bool visible) {
  if (!functions_.set_request_values) return false;
  if (visible != visible_) functions_.set_request_values(visible ? request_values_ : nullptr);
  visible_ = visible;
  return true;
}

void Session::fence(std::uint32_t device) {
  if (fence_ && abi::is_asynchronous(device)) fence_(device);
}

device::DeviceInfo Session::device_info(std::optional<std::uint32_t> device) {
  device::DeviceInfo info;
  const bool is_gpu = device && abi::is_asynchronous(*device) && !configuration().gpu_name.empty();
  if (is_gpu) {
    const Configuration& kokkos = configuration();
    if (const auto product = device::product_of_device(kokkos.gpu_name)) info = *product;
    info.name = kokkos.gpu_name;
    info.arch = kokkos.gpu_arch.empty() ? "unknown" : kokkos.gpu_arch;
    info.vendor = info.arch.starts_with("gfx") ? "amd" : "nvidia";
  } else {
    info = cpu::cpu_info();
  }
  info.backend = "kokkos-tools";
  return info;
}

std::vector<std::string> Session::environment() {
  std::vector<std::string> values;
  for (const char* name : {"KOKKOS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "OMP_SCHEDULE"})
    if (const char* value = std::getenv(name)) values.push_back(fmt::format("{}={}", name, base::utf8_text(value)));
  if (!configuration().threads.empty()) values.push_back("threads=" + configuration().threads);
  return values;
}

std::unique_ptr<Region> Session::make_region(const std::string& what, Bindings problem,
                                             std::optional<std::uint32_t> device,
                                             const std::vector<NamedVariable>& variables) try {
  auto region = std::make_unique<Region>();
  std::vector<space::Parameter> parameters;
  for (const NamedVariable& each : variables) {
    region->ids.push_back(each.id);
    region->types.push_back(each.variable.type);
    std::string name = parameter_name(each.variable.name, what);
    if (base::find_named(parameters, name))
      throw Error(ErrorKind::unsupported, "two variables have the name '" + name + "'");
    parameters.push_back({std::move(name), each.variable.values, false});
  }
  space::Space space(std::move(parameters), {}, {});
  if (space.size() < 2 || space.size() > max_space) return nullptr;
  region->question = {base::utf8_text(what), std::move(problem), configuration().version,
                      device ? abi::space_name(*device) : "", device_info(device)};
  region->parts = question_parts(region->question, space, environment());
  Known known;
  if (store_ && settings_.mode != Mode::fresh) try {
      known = read_known(*store_, region->question, region->parts, space);
    } catch (const std::exception& failure) {
      warn(failure.what());
    }
  TunerSettings tuner{settings_.evals, settings_.share, settings_.strategy, std::hash<std::string>()(attempt_ + what),
                      settings_.mode != Mode::stored && !is_child_};
  region->tuner = std::make_unique<OnlineTuner>(std::move(space), std::move(tuner), known, [this] { return now_ms(); });
  if (store_) region->writer = std::make_unique<ResultWriter>(*store_, region->question, region->parts, attempt_);
  region->read_ms = now_ms();
  return region;
} catch (const std::exception& failure) {
  warn(fmt::format("'{}' keeps its defaults: {}", base::printable(what, 120), failure.what()));
  return nullptr;
}

void Session::refresh(Region& region) {
  if (!store_ || settings_.mode == Mode::fresh || !region.tuner->wants_results()) return;
  if (now_ms() - region.read_ms < settings_.refresh_s * 1e3) return;
  region.read_ms = now_ms();
  try {
    region.tuner->learn(read_known(*store_, region.question, region.parts, region.tuner->space()));
  } catch (const std::exception& failure) {
    warn(failure.what());
  }
}

void Session::store(Region& region) {
  const std::vector<Finding> findings = region.tuner->take_findings();
  if (findings.empty() || !region.writer || !store_ || is_child_) return;
  try {
    const system::WriteSignals quiet;
    region.writer->write(findings, region.tuner->space());
  } catch (const std::exception& failure) {
    stop_storing(failure.what());
  }
}

void Session::stop_storing(const std::string& why) {
  store_.reset();
  warn(fmt::format("nothing more is stored: {}", why));
}

void Session::warn(const std::string& text) {
  if (warned_.size() >= max_warnings || !warned_.insert(text).second) return;
  print(fmt::format("xtune: warning: {}\n", base::printable(text, 1000)));
}

void Session::print(const std::string& text) {
  const system::WriteSignals quiet;
  std::fputs(text.c_str(), stderr);
}

}  // namespace xtune::kokkos_tools
