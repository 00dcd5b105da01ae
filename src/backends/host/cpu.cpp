// Reads procfs and sysfs.
#include "backends/host/cpu.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

#include "backends/host/compiler.hpp"
#include "base/control_groups.hpp"
#include "base/cpus.hpp"
#include "base/text.hpp"

namespace xtune::host {
namespace {

constexpr std::int64_t kib = 1024;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The leading number, or 0.
std::int64_t leading_number(std::string_view text) {
  const auto start = std::min(text.find_first_not_of(" \t"), text.size());
  std::int64_t number = 0;
  std::from_chars(text.data() + start, text.data() + text.size(), number);
  return number;
}

/// The text after the colon on the first line that begins with `label`.
std::string field(const std::filesystem::path& path, std::string_view label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(label) || colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

/// "512K", "32768K", "32M" as sysfs writes them.
std::int64_t cache_bytes(const std::string& text) {
  const std::int64_t number = leading_number(text);
  if (text.ends_with('K')) return number * kib;
  if (text.ends_with('M')) return number * kib * kib;
  return number;
}

std::int64_t last_level_cache_bytes(const std::filesystem::path& root) {
  std::int64_t level = 0, bytes = 0;
  for (int i = 0; i < 10; ++i) {
    const auto folder = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(i));
    const std::int64_t this_level = leading_number(first_line(folder / "level"));
    if (this_level < level || this_level == 0 || first_line(folder / "type") == "Instruction") continue;
    level = this_level;
    bytes = cache_bytes(first_line(folder / "size"));
  }
  return bytes;
}

}  // namespace

device::DeviceInfo cpu_info(const std::filesystem::path& root) {
  device::DeviceInfo info;
  info.backend = "host";
  info.arch = own_arch();
  info.vendor = "cpu";
  info.name = base::printable(field(root / "proc/cpuinfo", "model name"), 120);
  if (info.name.empty()) info.name = info.arch + " CPU";
  info.warp_size = 32;
  info.compute_units = static_cast<int>(base::usable_cpus());
  if (const std::int64_t quota = base::cpu_quota_milli(root); quota < info.compute_units * std::int64_t{1000})
    info.cpu_quota_milli = quota;
  info.shared_per_block = 48 * kib;
  info.shared_per_block_optin = info.shared_per_compute_unit = 227 * kib;
  info.registers_per_block = info.registers_per_compute_unit = 65536;
  info.max_threads_per_compute_unit = info.max_threads_per_block;
  info.l2_bytes = std::min(last_level_cache_bytes(root), 32 * kib * kib);
  info.memory_bytes = leading_number(field(root / "proc/meminfo", "MemTotal")) * kib;
  info.clock_khz = leading_number(first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  if (info.clock_khz == 0) info.clock_khz = leading_number(field(root / "proc/cpuinfo", "cpu MHz")) * 1000;
  return info;
}

}  // namespace xtune::host
