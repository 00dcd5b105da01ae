// The JSON of a saved result.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "xtune/result.hpp"

namespace xtune {

/// best_config.json: what an application needs of the winner, which must be there.
nlohmann::ordered_json best_config_json(const Result& result);
/// latency.json: every measurement with its times.
nlohmann::ordered_json latency_json(const Result& result);

/// The inverses, into an empty result. Throw nlohmann's exceptions for JSON of another shape, Error(io) for another
/// schema.
void read_best_config(const nlohmann::json& json, Result& result);
void read_latency(const nlohmann::json& json, Result& result);

}  // namespace xtune
