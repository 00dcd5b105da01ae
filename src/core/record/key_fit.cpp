// The driver's part in a key: the only part that lookups may ignore.
#include "core/record/key_fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/record/best.hpp"

namespace xtune::record {

KeyFit key_fit(const std::vector<std::string>& differences) {
  const bool driver_only = std::all_of(differences.begin(), differences.end(),
                                       [](const std::string& line) { return line.starts_with("driver: "); });
  return differences.empty() ? KeyFit::holds : driver_only ? KeyFit::stale : KeyFit::differs;
}

bool same_driver(const device::DeviceInfo& a, const device::DeviceInfo& b) {
  return a.driver == b.driver || a.driver.empty() || b.driver.empty();
}

KeyFit fit_at_best(const device::DeviceInfo& measured, const device::DeviceInfo& now) {
  return same_device(measured, now) && !same_driver(measured, now) ? KeyFit::stale : KeyFit::holds;
}

std::string protocol_setting(const build::KeyParts& parts, std::string_view setting) {
  const std::string before = " " + std::string(setting) + " ";
  for (const auto& [name, text] : parts)
    if (const std::size_t at = text.find(before); name == "protocol" && at != std::string::npos) {
      const std::size_t begin = at + before.size();
      return text.substr(begin, text.find(' ', begin) - begin);
    }
  return {};
}

std::string driver_change(const device::DeviceInfo& measured, const device::DeviceInfo& now) {
  return fmt::format("driver {} when it was measured, driver {} now", measured.driver, now.driver);
}

std::vector<std::string> with_changes_named(std::vector<std::string> differences, const std::filesystem::path& store,
                                            const std::string& artifact_key, const build::ArtifactSources& now) {
  const auto artifact = std::find_if(differences.begin(), differences.end(),
                                     [](const std::string& line) { return line.starts_with("artifact: "); });
  if (artifact == differences.end()) return differences;
  const std::vector<std::string> changes = build::source_changes(build::stored_sources(store, artifact_key), now);
  if (changes.empty()) return differences;
  differences.insert(differences.erase(artifact), changes.begin(), changes.end());
  return differences;
}

void add_driver_part(build::KeyParts& parts, std::string& key, const std::string& driver) {
  if (driver.empty()) return;
  const auto part = [&](const char* name) {
    return std::find_if(parts.begin(), parts.end(), [&](const auto& each) { return each.first == name; });
  };
  const auto device = part("device");
  if (device == parts.end() || part("driver") != parts.end() || build::key_of(parts) != key) return;
  parts.insert(std::next(device), {"driver", driver});
  key = build::key_of(parts);
}

}  // namespace xtune::record
