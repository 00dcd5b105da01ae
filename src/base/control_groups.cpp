// Reads /proc/self/cgroup and the files of the groups.
#include "base/control_groups.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "base/text.hpp"

namespace xtune::base {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_up(const fs::path& mount, std::string_view group) {
  std::vector<fs::path> folders;
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    folders.push_back(path.empty() ? mount : mount / path);
    if (path.empty()) return folders;
  }
}

/// Version 1 mounts a hierarchy under the names of its controllers, and on most systems links each name to it.
fs::path mount_of(const fs::path& root, std::string_view controller, const std::string& all) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::error_code ignored;
  return fs::exists(mounts / controller, ignored) || !fs::exists(mounts / all, ignored) ? mounts / controller
                                                                                        : mounts / all;
}

/// A positive number at the start of a file; nullopt: "max", -1, or no such file.
std::optional<double> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0) return std::nullopt;
  return static_cast<double>(number);
}

}  // namespace

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<ControlGroup> found;
  const std::string groups = read_if_there(root / "proc/self/cgroup");
  // "0::/path" of version 2, "7:cpu,memory:/path" of version 1.
  for (const std::string_view line : split_lines(groups)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty())
      found.push_back({2, folders_up(root / "sys/fs/cgroup", group)});
    else if (("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos)
      found.push_back({1, folders_up(mount_of(root, controller, controllers), group)});
  }
  return found;
}

std::int64_t cpu_quota_milli(const fs::path& root) {
  std::int64_t least = 0;
  for (const ControlGroup& group : control_groups("cpu", root))
    for (const fs::path& folder : group.folders) {
      std::string quota, period;
      if (group.version == 2) {
        quota = read_if_there(folder / "cpu.max");  // "20000 100000"
        period = quota.substr(std::min(quota.find(' '), quota.size()));
        period.erase(0, period.find_first_not_of(' '));
      } else {
        quota = read_if_there(folder / "cpu.cfs_quota_us");
        period = read_if_there(folder / "cpu.cfs_period_us");
      }
      const auto microseconds = number_in(quota), per = number_in(period);
      if (!microseconds || !per) continue;
      const auto milli = std::max<std::int64_t>(1, static_cast<std::int64_t>(*microseconds / *per * 1000 + 0.5));
      least = least == 0 ? milli : std::min(least, milli);
    }
  return least;
}

}  // namespace xtune::base
