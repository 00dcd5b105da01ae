// JSON forms: of artifacts and resource usage for cache metadata, records and worker messages; of keyed files, to
// remember them between processes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// Unset members are omitted.
nlohmann::json to_json(const ResourceUsage& usage);
ResourceUsage resource_usage_from_json(const nlohmann::json& json);

/// Everything except the image.
nlohmann::json to_json(const Artifact& artifact);
Artifact artifact_from_json(const nlohmann::json& json);

/// Files and absent paths; empty lists are omitted. Paths may hold any bytes.
nlohmann::json to_json(const KeyedFiles& keyed);
/// Throws nlohmann::json::exception for other JSON.
KeyedFiles keyed_files_from_json(const nlohmann::json& json);

}  // namespace xtune::build
