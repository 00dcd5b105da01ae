// Keyed files as JSON, to remember them between processes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// Files and absent paths; empty lists are omitted. Paths may hold any bytes.
nlohmann::json to_json(const KeyedFiles& keyed);
/// Throws nlohmann::json::exception for other JSON.
KeyedFiles keyed_files_from_json(const nlohmann::json& json);

}  // namespace xtune::build
