// The JSON of a saved result.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "xtune/result.hpp"

namespace xtune {

/// best_config.json: the facts about the winner, which must exist, for an application.
nlohmann::ordered_json best_config_json(const Result& result);
/// latency.json: every measurement with its times.
nlohmann::ordered_json latency_json(const Result& result);

/// The facts about other files in best_config.json; empty if there is no binary.
struct SavedBinary {
  std::string sha256, source_sha256;
};

/// The inverses, into an empty result, latency.json first. Each file has hashes over its values, and so has each
/// measurement. Throw nlohmann's exceptions for JSON of another structure, Error(io) with the member for another schema
/// and for values that differ from the saved ones.
void read_latency(const nlohmann::json& json, Result& result);
SavedBinary read_best_config(const nlohmann::json& json, Result& result);

}  // namespace xtune
