// The driver's part in a key: the one part that lookups may overlook.
#include "core/record/key_fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

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

std::string driver_change(const device::DeviceInfo& measured, const device::DeviceInfo& now) {
  return fmt::format("driver {} when it was measured, driver {} now", measured.driver, now.driver);
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
