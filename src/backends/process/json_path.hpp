// Paths into the JSON that programs write.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace xtune::process {

/// The whole text, or its last line that is JSON, of a thousand at most. Throws NoNumber (read_value.hpp).
nlohmann::json parse_json(const std::string& text);

/// What "results[0].time", "a.\"b.c\"[-1]" or a JSON pointer, "/results/0/time", leads to. Throws NoNumber that says
/// where the path ends.
const nlohmann::json& json_at(const nlohmann::json& json, const std::string& path);

}  // namespace xtune::process
