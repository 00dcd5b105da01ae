// JSON from other programs, and errors of the JSON library in words for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace xtune::base {

inline constexpr int max_json_levels = 500;

/// The value of a text; discarded (is_discarded) if the text is not JSON, or has more than max_json_levels: copying and
/// writing a value recurse, so one of 100,000 levels would need more stack than there is.
nlohmann::json read_json(std::string_view text);

/// "not JSON (byte 17)", "'host' is missing", "a value is a string; a number was expected".
std::string json_error_text(const nlohmann::json::exception& error);

}  // namespace xtune::base
