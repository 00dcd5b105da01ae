// The JSON of a saved result.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "xtune/result.hpp"

namespace xtune {

/// best_config.json: what an application needs of the winner, which must be there.
nlohmann::ordered_json best_config_json(const Result& result);
/// latency.json: every measurement with its times.
nlohmann::ordered_json latency_json(const Result& result);

/// What best_config.json says of the files beside it; empty where there is no binary.
struct SavedBinary {
  std::string sha256, source_sha256;
};

/// The inverses, into an empty result, latency.json first. Each file has hashes over its values, each measurement one
/// of its own. Throw nlohmann's exceptions for JSON of another shape, Error(io) for another schema and for values that
/// are not those that were saved, which names the member.
void read_latency(const nlohmann::json& json, Result& result);
SavedBinary read_best_config(const nlohmann::json& json, Result& result);

}  // namespace xtune
