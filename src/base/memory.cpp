// Reading /proc/meminfo and the files of control groups.
#include "base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/control_groups.hpp"
#include "base/files.hpp"

namespace xtune::base {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = (std::uint64_t{1} << 63) - 1;

/// nullopt: not a number, such as "max".
std::optional<std::uint64_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The number after a name at the start of a line.
std::optional<std::uint64_t> field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    if (text.starts_with(name)) return number_at(text.substr(name.size()));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return std::nullopt;
}

/// The memory that one limit leaves; nullopt: there is no limit.
std::optional<std::uint64_t> left_in(int version, const fs::path& folder) {
  const auto limit = number_at(read_if_there(folder / (version == 2 ? "memory.max" : "memory.limit_in_bytes")));
  const auto usage = number_at(read_if_there(folder / (version == 2 ? "memory.current" : "memory.usage_in_bytes")));
  if (!limit || !usage) return std::nullopt;
  // Page cache that the kernel can reclaim.
  const char* const cache_field = version == 2 ? "inactive_file " : "total_inactive_file ";
  const std::uint64_t cache = field(read_if_there(folder / "memory.stat"), cache_field).value_or(0);
  const std::uint64_t used = *usage - std::min(cache, *usage);
  return *limit - std::min(used, *limit);
}

}  // namespace

std::uint64_t available_memory_bytes(const fs::path& root) {
  std::uint64_t least = unlimited;
  if (const auto kib = field(read_if_there(root / "proc/meminfo"), "MemAvailable:")) least = *kib * 1024;
  for (const ControlGroup& group : control_groups("memory", root))
    for (const fs::path& folder : group.folders)
      if (const auto bytes = left_in(group.version, folder)) least = std::min(least, *bytes);
  return least;
}

std::uint64_t machine_memory_bytes(const fs::path& root) {
  const auto kib = field(read_if_there(root / "proc/meminfo"), "MemTotal:");
  return kib ? *kib * 1024 : unlimited;
}

std::uint64_t held_memory_bytes() {
  const std::string status = read_if_there("/proc/self/status");
  return (field(status, "VmRSS:").value_or(0) + field(status, "VmSwap:").value_or(0)) * 1024;
}

std::uint64_t peak_memory_bytes() { return field(read_if_there("/proc/self/status"), "VmHWM:").value_or(0) * 1024; }

}  // namespace xtune::base
