// Small files of one number or word each. The clock has two: the performance level, and the levels of the compute
// units.
#include "backends/gpu/amd_sysfs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::gpu {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> word(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  if (!(stream >> text)) return std::nullopt;
  return text;
}

std::optional<double> number(const fs::path& file, double scale) {
  const auto text = word(file);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0') return std::nullopt;
  return value * scale;
}

/// The number in the first of several files that has one.
std::optional<double> first_number(const fs::path& folder, std::initializer_list<const char*> names, double scale) {
  for (const char* name : names)
    if (const auto value = number(folder / name, scale)) return value;
  return std::nullopt;
}

/// "ue: 3", a line of ras/umc_err_count.
std::optional<std::uint64_t> uncorrected(const fs::path& file) {
  std::ifstream stream(file);
  std::string name;
  std::uint64_t count = 0;
  while (stream >> name >> count)
    if (name == "ue:") return count;
  return std::nullopt;
}

std::optional<double> max_clock_mhz(const fs::path& file) {
  std::optional<double> most;
  for (const ClockLevel& level : clock_levels(file)) most = std::max(most.value_or(0), level.mhz);
  return most;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// The energy counter in gpu_metrics, a table behind a header of its size (16 bits) and revision (8 and 8 bits), in
/// units of 2^-16 J, all bits set if the device does not count. Known of revisions 1.4 to 1.8, those of MI300 and
/// newer. Source: the Linux kernel's kgd_pp_interface.h, gpu_metrics_v1_4 to gpu_metrics_v1_8.
std::optional<double> energy_j(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<unsigned char, 96> table{};
  stream.read(reinterpret_cast<char*>(table.data()), table.size());
  const auto bits = [&](std::size_t place, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | table[place + i];
    return value;
  };
  // Revision 1.6 was extended by the activities of partitions, which took those before the counter.
  constexpr std::uint64_t with_partitions_bytes = 1024;
  const std::map<std::uint64_t, std::size_t> places{
      {4, 24}, {5, 88}, {6, bits(0, 2) < with_partitions_bytes ? 88 : 16}, {7, 24}, {8, 24}};
  const auto place = places.find(bits(3, 1));
  if (stream.gcount() < 32 || bits(2, 1) != 1 || place == places.end()) return std::nullopt;
  if (place->second + 8 > static_cast<std::size_t>(stream.gcount())) return std::nullopt;
  const std::uint64_t count = bits(place->second, 8);
  if (count == UINT64_MAX) return std::nullopt;
  return static_cast<double>(count) / 65536;
}

/// Processes with memory on any of the machine's GPUs. The GPUs have other numbers here than elsewhere, so this works
/// only on a machine with one GPU.
std::vector<int> processes(const fs::path& root) {
  std::error_code error;
  std::size_t gpus = 0;
  for (const auto& node : fs::directory_iterator(root / "sys/class/kfd/kfd/topology/nodes", error))
    gpus += number(node.path() / "gpu_id", 1).value_or(0) > 0;
  std::vector<int> ids;
  if (gpus != 1) return ids;
  for (const auto& process : fs::directory_iterator(root / "sys/class/kfd/kfd/proc", error))
    if (is_number(process.path().filename())) ids.push_back(std::atoi(process.path().filename().c_str()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

measure::DeviceState state_of(const fs::path& device, const fs::path& root) {
  measure::DeviceState state;
  std::error_code error;
  for (const auto& sensor : fs::directory_iterator(device / "hwmon", error)) {
    state.temperature_c = first_number(sensor.path(), {"temp2_input", "temp1_input"}, 1e-3);  // junction, else edge
    state.power_w = first_number(sensor.path(), {"power1_average", "power1_input"}, 1e-6);
  }
  state.energy_j = energy_j(device / "gpu_metrics");
  state.max_clock_mhz = max_clock_mhz(device / "pp_dpm_sclk");
  state.uncorrected_errors = uncorrected(device / "ras/umc_err_count");
  state.processes = processes(root);
  return state;
}

namespace fs = std::filesystem;

class AmdClocks final : public measure::ClockLock {
 public:
  explicit AmdClocks(const fs::path& device)
      : level_(device / "power_dpm_force_performance_level"), clocks_(device / "pp_dpm_sclk") {}

  int lock(int mhz) override {
    std::string level;
    std::ifstream(level_) >> level;
    if (level.empty())
      throw Error(ErrorKind::unsupported, "--lock-clocks: " + level_.string() +
                                              " cannot be read: the amdgpu driver does not let this device's "
                                              "clock be set");
    if (level != "auto")
      throw Error(ErrorKind::unavailable,
                  fmt::format("--lock-clocks: the device's performance level is '{}', so somebody has set it already: "
                              "`{}` first",
                              base::printable(level, 60), undo_command()));
    return mhz == 0 ? lock_standard() : lock_level(mhz);
  }

  void unlock() override { write(level_, "auto"); }

  std::string undo_command() const override { return "echo auto > " + level_.string(); }

 private:
  int lock_standard() {
    write(level_, "profile_standard");
    for (const ClockLevel& each : clock_levels(clocks_))
      if (each.current) return static_cast<int>(each.mhz);
    throw Error(ErrorKind::unsupported, "--lock-clocks: " + clocks_.string() +
                                            " does not show the device's clock, so records could not name it" +
                                            undone());
  }

  int lock_level(int mhz) {
    std::vector<std::string> known;
    for (const ClockLevel& each : clock_levels(clocks_)) {
      const int own = static_cast<int>(each.mhz);
      known.push_back(std::to_string(own));
      if (own != mhz) continue;
      write(level_, "manual");
      try {
        write(clocks_, each.number);
      } catch (const Error& error) {
        throw Error(error.kind(), error.what() + undone());
      }
      return mhz;
    }
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--lock-clocks={}: the device has no such clock (MHz); it has {}", mhz,
                            known.empty() ? "none that can be chosen" : fmt::format("{}", fmt::join(known, ", "))));
  }

  /// Undoes what lock() has begun. The end of its error's text: how to do it, if it failed.
  std::string undone() {
    try {
      unlock();
      return "";
    } catch (const Error& error) {
      return fmt::format("; the level is not restored ({}); this does it: {}", error.what(), undo_command());
    }
  }

  /// In one call, and without creating a file: that is how the driver's files take a value.
  static void write(const fs::path& file, const std::string& word) {
    const int opened = open(file.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
    const bool written = opened >= 0 && ::write(opened, word.data(), word.size()) == static_cast<ssize_t>(word.size());
    const int reason = errno;
    if (opened >= 0) close(opened);
    if (written) return;
    const bool forbidden = reason == EACCES || reason == EPERM || reason == EROFS;
    throw Error(
        forbidden ? ErrorKind::unavailable : ErrorKind::unsupported,
        fmt::format("--lock-clocks: '{}' cannot be written to {}: {}{}", word, file.string(), std::strerror(reason),
                    forbidden ? "; it needs root, so run xtune as root, or without --lock-clocks" : ""));
  }

  const fs::path level_, clocks_;
};

}  // namespace

std::vector<ClockLevel> clock_levels(const fs::path& file) {
  std::vector<ClockLevel> levels;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const double mhz = std::strtod(line.c_str() + colon + 1, nullptr);
    if (mhz > 0) levels.push_back({line.substr(0, colon), mhz, line.find('*') != std::string::npos});
  }
  return levels;
}

std::function<measure::DeviceState()> open_amd_monitor(const std::string& pci_address, const fs::path& root) {
  const std::string address = base::lower_case(pci_address);
  const fs::path device = root / "sys/bus/pci/devices" / address;
  std::error_code error;
  if (address.empty() || !fs::is_directory(device, error)) return {};
  const std::string partition = amd_partition(address, root);
  const bool whole = partition.empty() || partition.starts_with("SPX");
  return [device, root, whole] {
    measure::DeviceState state = state_of(device, root);
    if (!whole) state.energy_j = state.power_w = std::nullopt;  // the counters are those of the whole device
    return state;
  };
}

std::string amd_partition(const std::string& pci_address, const fs::path& root) {
  // Further partitions of a device have other functions than 0 in their addresses, or none in the tree.
  const std::string address = base::lower_case(pci_address);
  const fs::path own = root / "sys/bus/pci/devices" / address;
  std::error_code error;
  const fs::path device = fs::exists(own / "current_compute_partition", error)
                              ? own
                              : root / "sys/bus/pci/devices" / (address.substr(0, address.rfind('.')) + ".0");
  const std::string compute = word(device / "current_compute_partition").value_or("SPX");
  const std::string memory = word(device / "current_memory_partition").value_or("");
  if (compute == "SPX" && (memory.empty() || memory == "NPS1")) return {};
  return compute + (memory.empty() ? "" : ", " + memory);
}

std::unique_ptr<measure::ClockLock> amd_clocks(const std::string& pci_address, const fs::path& root) {
  const fs::path device = root / "sys/bus/pci/devices" / base::lower_case(pci_address);
  std::error_code error;
  if (pci_address.empty() || !fs::is_directory(device, error))
    throw Error(ErrorKind::unavailable, "--lock-clocks: " + device.string() +
                                            " is not there: this machine does not "
                                            "show the device's clock");
  return std::make_unique<AmdClocks>(device);
}

}  // namespace xtune::gpu
