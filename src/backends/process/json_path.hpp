// Paths into the JSON output of programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace xtune::process {

/// Parses the whole text, or its last line that is JSON, among the last thousand. Throws NoNumber (read_value.hpp).
nlohmann::json parse_json(const std::string& text);

/// The element at "results[0].time", "a.\"b.c\"[-1]" or a JSON pointer, "/results/0/time". Throws NoNumber with the
/// place where the path ends.
const nlohmann::json& json_at(const nlohmann::json& json, const std::string& path);

}  // namespace xtune::process
