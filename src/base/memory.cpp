// Reading /proc/meminfo and the files of control groups.
#include "base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

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

struct CgroupFiles {
  fs::path mount;
  const char *limit, *usage, *cache;  ///< cache: of the field of memory.stat that the kernel can give back
};

/// What one limit allows, or leaves; nullopt: there is none.
using Reader = std::optional<std::uint64_t> (*)(const CgroupFiles& files, const fs::path& folder);

std::optional<std::uint64_t> left_in(const CgroupFiles& files, const fs::path& folder) {
  const auto limit = number_at(read_if_there(folder / files.limit));
  const auto usage = number_at(read_if_there(folder / files.usage));
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t cache = field(read_if_there(folder / "memory.stat"), files.cache).value_or(0);
  const std::uint64_t used = *usage - std::min(cache, *usage);
  return *limit - std::min(used, *limit);
}

std::optional<std::uint64_t> limit_of(const CgroupFiles& files, const fs::path& folder) {
  return number_at(read_if_there(folder / files.limit));
}

/// The least of what is read from `group` up to the root of its hierarchy.
std::uint64_t least_of_groups(const CgroupFiles& files, std::string_view group, Reader read) {
  std::uint64_t least = unlimited;
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    if (const auto bytes = read(files, files.mount / path)) least = std::min(least, *bytes);
    if (path.empty()) return least;
  }
}

/// field_name: of /proc/meminfo.
std::uint64_t least_of_machine(const fs::path& root, std::string_view field_name, Reader read) {
  std::uint64_t least = unlimited;
  if (const auto kib = field(read_if_there(root / "proc/meminfo"), field_name)) least = *kib * 1024;
  const std::string groups = read_if_there(root / "proc/self/cgroup");
  // "0::/path" of version 2, "7:cpu,memory:/path" of version 1.
  for (std::string_view rest = groups; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string_view group = line.substr(second + 1);
    if (controllers == ",,")
      least = std::min(
          least,
          least_of_groups({root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "}, group, read));
    else if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, least_of_groups({root / "sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                               "memory.usage_in_bytes", "total_inactive_file "},
                                              group, read));
  }
  return least;
}

}  // namespace

std::uint64_t available_memory_bytes(const fs::path& root) { return least_of_machine(root, "MemAvailable:", left_in); }

std::uint64_t total_memory_bytes(const fs::path& root) { return least_of_machine(root, "MemTotal:", limit_of); }

std::uint64_t held_memory_bytes() {
  const std::string status = read_if_there("/proc/self/status");
  return (field(status, "VmRSS:").value_or(0) + field(status, "VmSwap:").value_or(0)) * 1024;
}

std::uint64_t peak_memory_bytes() { return field(read_if_there("/proc/self/status"), "VmHWM:").value_or(0) * 1024; }

}  // namespace xtune
