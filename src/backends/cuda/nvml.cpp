// Calls NVML. Its header is not part of the driver, so the few calls and constants are declared here (NVML API
// Reference; they are stable since R510).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cuda/driver.hpp"
#include "system/dynamic_library.hpp"
#include "xtune/error.hpp"

namespace xtune::cuda {
namespace {

using Handle = void*;  // nvmlDevice_t
constexpr int success = 0, invalid_argument = 2, no_permission = 4, too_small = 7;
constexpr int core_temperature = 0, graphics_clock = 0, sm_clock = 1, uncorrected = 1, since_boot = 0;

/// nvmlProcessInfo_t since nvmlDeviceGetComputeRunningProcesses_v2.
struct Process {
  unsigned id;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

/// The nvmlClocksThrottleReasons that are not normal for a busy device; a power cap is normal.
constexpr std::pair<unsigned long long, const char*> slowdowns[] = {{0x8, "the hardware asks for it"},
                                                                    {0x20, "it is too hot"},
                                                                    {0x40, "it is too hot"},
                                                                    {0x80, "the power supply asks for it"}};

class Nvml {
 public:
  /// Throws Error(unavailable).
  explicit Nvml(const std::string& library) : library_(system::DynamicLibrary::open({library})) {
    library_.keep_resident();
    int (*init)() = nullptr;
    library_.get("nvmlInit_v2", init);
    library_.get("nvmlDeviceGetHandleByPciBusId_v2", handle_by_address_);
    find("nvmlDeviceGetHandleByUUID", handle_by_uuid_);
    find("nvmlDeviceGetTemperature", temperature_);
    find("nvmlDeviceGetPowerUsage", power_);
    find("nvmlDeviceGetTotalEnergyConsumption", energy_);
    find("nvmlDeviceGetMaxClockInfo", max_clock_);
    find("nvmlDeviceGetCurrentClocksThrottleReasons", throttling_);
    find("nvmlDeviceGetTotalEccErrors", errors_);
    find("nvmlDeviceGetComputeRunningProcesses_v3", processes_);
    if (!processes_) find("nvmlDeviceGetComputeRunningProcesses_v2", processes_);
    find("nvmlDeviceGetMPSComputeRunningProcesses_v3", mps_processes_);
    find("nvmlDeviceGetDefaultApplicationsClock", default_clock_);
    find("nvmlDeviceSetGpuLockedClocks", lock_clocks_);
    find("nvmlDeviceResetGpuLockedClocks", reset_clocks_);
    find("nvmlErrorString", error_text_);
    if (init() != success) throw Error(ErrorKind::unavailable, "NVML does not start");
  }

  /// nullptr if it does not exist.
  Handle device(const std::string& pci_address) const {
    Handle handle = nullptr;
    return handle_by_address_(pci_address.c_str(), &handle) == success ? handle : nullptr;
  }

  /// nullptr if it does not exist.
  Handle part(const std::string& uuid) const {
    Handle handle = nullptr;
    return handle_by_uuid_ && handle_by_uuid_(uuid.c_str(), &handle) == success ? handle : nullptr;
  }

  /// part: the device, or what of it has our processes; nullptr: unknown.
  measure::DeviceState state(Handle device, Handle part) const {
    measure::DeviceState state;
    unsigned value = 0;
    unsigned long long wide = 0;
    if (temperature_ && temperature_(device, core_temperature, &value) == success) state.temperature_c = value;
    const bool whole = part == device;  // whose counters these are
    if (whole && power_ && power_(device, &value) == success) state.power_w = value * 1e-3;
    if (whole && energy_ && energy_(device, &wide) == success) state.energy_j = static_cast<double>(wide) * 1e-3;
    if (max_clock_ && max_clock_(device, sm_clock, &value) == success) state.max_clock_mhz = value;
    if (errors_ && errors_(device, uncorrected, since_boot, &wide) == success) state.uncorrected_errors = wide;
    if (throttling_ && throttling_(device, &wide) == success)
      for (const auto& [bit, words] : slowdowns)
        if ((wide & bit) != 0 && (state.throttling.empty() || state.throttling.back() != words))
          state.throttling.emplace_back(words);
    if (part) state.processes = processes(part);
    return state;
  }

  /// nullopt: it has none.
  std::optional<unsigned> default_clock_mhz(Handle device) const {
    unsigned mhz = 0;
    const bool known = default_clock_ && default_clock_(device, graphics_clock, &mhz) == success && mhz > 0;
    return known ? std::optional(mhz) : std::nullopt;
  }
  int lock_clocks(Handle device, unsigned mhz) const { return lock_clocks_(device, mhz, mhz); }
  int reset_clocks(Handle device) const { return reset_clocks_(device); }
  bool can_lock_clocks() const noexcept { return lock_clocks_ && reset_clocks_; }
  std::string error_text(int code) const { return error_text_ ? error_text_(code) : "error " + std::to_string(code); }

 private:
  template <class Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(library_.find(name));
  }

  using ListProcesses = int (*)(Handle, unsigned*, Process*);

  static std::vector<int> listed(ListProcesses list_processes, Handle device) {
    std::vector<int> ids;
    std::array<Process, 64> list{};
    unsigned count = list.size();
    if (!list_processes) return ids;
    const int status = list_processes(device, &count, list.data());
    if (status != success && status != too_small) return ids;
    for (unsigned i = 0; i < count && i < list.size(); ++i) ids.push_back(static_cast<int>(list[i].id));
    return ids;
  }

  /// Without the server of MPS, which has a context beside those of its clients, and computes nothing.
  std::vector<int> processes(Handle device) const {
    std::vector<int> ids = listed(processes_, device);
    const std::vector<int> clients = listed(mps_processes_, device);
    const auto server = std::find_if(
        ids.begin(), ids.end(), [&](int id) { return std::find(clients.begin(), clients.end(), id) == clients.end(); });
    if (!clients.empty() && server != ids.end()) ids.erase(server);
    return ids;
  }

  system::DynamicLibrary library_;
  int (*handle_by_address_)(const char*, Handle*) = nullptr;
  int (*handle_by_uuid_)(const char*, Handle*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*energy_)(Handle, unsigned long long*) = nullptr;
  int (*max_clock_)(Handle, int, unsigned*) = nullptr;
  int (*throttling_)(Handle, unsigned long long*) = nullptr;
  int (*errors_)(Handle, int, int, unsigned long long*) = nullptr;
  ListProcesses processes_ = nullptr, mps_processes_ = nullptr;
  int (*default_clock_)(Handle, int, unsigned*) = nullptr;
  int (*lock_clocks_)(Handle, unsigned, unsigned) = nullptr;
  int (*reset_clocks_)(Handle) = nullptr;
  const char* (*error_text_)(int) = nullptr;
};

class NvmlClocks final : public measure::ClockLock {
 public:
  NvmlClocks(std::string pci_address, const std::string& library)
      : address_(std::move(pci_address)), nvml_(library), device_(nvml_.device(address_)) {
    if (!device_) throw Error(ErrorKind::unavailable, "--lock-clocks: NVML does not know the device at " + address_);
    if (!nvml_.can_lock_clocks())
      throw Error(ErrorKind::unsupported, "--lock-clocks: this NVML cannot fix clocks; it needs a driver for CUDA 11");
  }

  int lock(int mhz) override {
    const std::optional<unsigned> wanted =
        mhz > 0 ? std::optional(static_cast<unsigned>(mhz)) : nvml_.default_clock_mhz(device_);
    if (!wanted)
      throw Error(ErrorKind::unsupported,
                  "--lock-clocks: the device has no default clock; name a clock in MHz, as in --lock-clocks=1410 "
                  "(`nvidia-smi -q -d SUPPORTED_CLOCKS` lists them)");
    if (const int code = nvml_.lock_clocks(device_, *wanted); code != success) {
      const char* const advice = code == no_permission
                                     ? "; it needs root, so run xtune as root, or without --lock-clocks"
                                 : code == invalid_argument ? "; `nvidia-smi -q -d SUPPORTED_CLOCKS` lists clocks"
                                                            : "";
      throw Error(code == no_permission      ? ErrorKind::unavailable
                  : code == invalid_argument ? ErrorKind::invalid_argument
                                             : ErrorKind::unsupported,
                  fmt::format("--lock-clocks: NVML refuses to fix the clock at {} MHz: {}{}", *wanted,
                              nvml_.error_text(code), advice));
    }
    return static_cast<int>(*wanted);
  }

  void unlock() override {
    if (const int code = nvml_.reset_clocks(device_); code != success)
      throw Error(ErrorKind::unavailable, "NVML refuses to restore the clock: " + nvml_.error_text(code));
  }

  std::string undo_command() const override { return "nvidia-smi --id=" + address_ + " --reset-gpu-clocks"; }

 private:
  const std::string address_;
  const Nvml nvml_;
  const Handle device_;
};

}  // namespace

std::unique_ptr<measure::ClockLock> nvml_clocks(const std::string& pci_address, const std::string& library) {
  return std::make_unique<NvmlClocks>(pci_address, library);
}

std::function<measure::DeviceState()> open_monitor(const std::string& pci_address, const std::string& uuid,
                                                   const std::string& library) {
  try {
    const auto nvml = std::make_shared<Nvml>(library);
    const Handle device = nvml->device(pci_address);
    if (!device) return {};
    const Handle part = uuid.starts_with("MIG-") ? nvml->part(uuid) : device;
    return [=] { return nvml->state(device, part); };
  } catch (const Error&) {
    return {};  // the driver of a container may not include it
  }
}

}  // namespace xtune::cuda
