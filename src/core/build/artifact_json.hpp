// JSON forms of artifacts and resource usage, for cache metadata, records and worker messages.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// Unset members are omitted.
nlohmann::json to_json(const ResourceUsage& usage);
ResourceUsage resource_usage_from_json(const nlohmann::json& json);

/// Everything except the image.
nlohmann::json to_json(const Artifact& artifact);
Artifact artifact_from_json(const nlohmann::json& json);

}  // namespace xtune::build
