// How well a stored record's key fits what would be measured today.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/build/artifact_sources.hpp"
#include "core/build/keys.hpp"
#include "core/device/device_info.hpp"

namespace xtune::record {

/// Best first.
enum class KeyFit {
  holds,   ///< the same key
  stale,   ///< the same but for the device's driver: a result of before an update, or of another node of a cluster
  differs  ///< something else differs: the source, the problem's data, the tolerance
};
/// Of what key_difference returns.
KeyFit key_fit(const std::vector<std::string>& differences);

/// Whether the two have the same driver; a driver that is unknown (an absent device, a CPU) is like any other.
bool same_driver(const device::DeviceInfo& a, const device::DeviceInfo& b);

/// The best fit that the key of a record of one device can have for another device, whatever else it says.
KeyFit fit_at_best(const device::DeviceInfo& measured, const device::DeviceInfo& now);

/// The [measure] flush of a key: "l2", "rotate" or "none"; empty: it has none. Warm and cold caches are two questions,
/// while the rest of the part "protocol" says how carefully was measured.
std::string flush_of(const build::KeyParts& parts);

/// "driver 12.4 when it was measured, driver 13.0 now"
std::string driver_change(const device::DeviceInfo& measured, const device::DeviceInfo& now);

/// The same differences (stored -> today), but the hashes of the artifacts give way to the files or the compiler that
/// changed, as far as the store knows what its artifact was made from.
std::vector<std::string> with_changes_named(std::vector<std::string> differences, const std::filesystem::path& store,
                                            const std::string& artifact_key, const build::ArtifactSources& now);

/// Earlier versions put the driver among a record's facts of the device but not into its key. Adds the part "driver" to
/// the parts of such a key, and makes the key of them again, so that the record counts as what it is: a result with
/// that driver. Leaves alone a key that has the part, or is not the hash of its parts, and one without a device.
void add_driver_part(build::KeyParts& parts, std::string& key, const std::string& driver);

}  // namespace xtune::record
