// How well a stored record's key matches the key of a measurement today.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact_sources.hpp"
#include "core/build/keys.hpp"
#include "core/device/device_info.hpp"

namespace xtune::record {

/// Best first.
enum class KeyFit {
  holds,   ///< the same key
  stale,   ///< the same except for the driver: a result from before an update, or of another node of a cluster
  differs  ///< something else differs: the source, the problem's data, the tolerance
};
/// From the result of key_difference.
KeyFit key_fit(const std::vector<std::string>& differences);

/// Whether both have the same driver; an unknown driver (an absent device, a CPU) counts as the same.
bool same_driver(const device::DeviceInfo& a, const device::DeviceInfo& b);

/// The best possible fit of a record's key from one device for another device.
KeyFit fit_at_best(const device::DeviceInfo& measured, const device::DeviceInfo& now);

/// A setting of [measure] in a key: "flush" ("l2", "rotate" or "none") or "launch" ("graph"); empty: the key has none.
/// These make different quantities: warm and cold caches, launches on their own and in a graph. The rest of the part
/// "protocol" describes how carefully the time was measured.
std::string protocol_setting(const build::KeyParts& parts, std::string_view name);

/// "driver 12.4 when it was measured, driver 13.0 now"
std::string driver_change(const device::DeviceInfo& measured, const device::DeviceInfo& now);

/// The same differences (stored -> today), but instead of the hashes of the artifacts, the files or the compiler that
/// changed, as far as the store has the sources of its artifact.
std::vector<std::string> with_changes_named(std::vector<std::string> differences, const std::filesystem::path& store,
                                            const std::string& artifact_key, const build::ArtifactSources& now);

/// Earlier versions put the driver into a record's device facts but not into its key. Adds the part "driver" to the
/// parts of such a key, and computes the key from them, so that the record counts as a result with that driver. Does
/// not change a key that has the part, or is not the hash of its parts, and one without a device.
void add_driver_part(build::KeyParts& parts, std::string& key, const std::string& driver);

}  // namespace xtune::record
