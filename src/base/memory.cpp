// Reading /proc/meminfo and the files of control groups.
#include "base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/control_groups.hpp"
#include "base/files.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = (std::uint64_t{1} << 63) - 1;

/// nullopt: no number, as "max" is none.
std::optional<std::uint64_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The number behind a name that opens a line.
std::optional<std::uint64_t> field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    if (text.starts_with(name)) return number_at(text.substr(name.size()));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return std::nullopt;
}

/// What the limits of a group and of those above it leave.
std::uint64_t left_in(const ControlGroup& group) {
  const bool second = group.version == 2;
  std::uint64_t left = unlimited;
  for (const fs::path& folder : group.folders) {
    const auto limit = number_at(read_if_there(folder / (second ? "memory.max" : "memory.limit_in_bytes")));
    const auto usage = number_at(read_if_there(folder / (second ? "memory.current" : "memory.usage_in_bytes")));
    if (!limit || !usage) continue;
    // Page cache that the kernel can give back.
    const char* const cache_field = second ? "inactive_file " : "total_inactive_file ";
    const std::uint64_t cache = field(read_if_there(folder / "memory.stat"), cache_field).value_or(0);
    const std::uint64_t used = *usage - std::min(cache, *usage);
    left = std::min(left, *limit - std::min(used, *limit));
  }
  return left;
}

}  // namespace

std::uint64_t available_memory_bytes(const fs::path& root) {
  std::uint64_t available = unlimited;
  if (const auto kib = field(read_if_there(root / "proc/meminfo"), "MemAvailable:")) available = *kib * 1024;
  for (const ControlGroup& group : control_groups("memory", root)) available = std::min(available, left_in(group));
  return available;
}

std::uint64_t held_memory_bytes() {
  const std::string status = read_if_there("/proc/self/status");
  return (field(status, "VmRSS:").value_or(0) + field(status, "VmSwap:").value_or(0)) * 1024;
}

std::uint64_t peak_memory_bytes() { return field(read_if_there("/proc/self/status"), "VmHWM:").value_or(0) * 1024; }

}  // namespace xtune
