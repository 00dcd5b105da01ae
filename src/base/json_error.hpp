// Errors of the JSON library, in words for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace xtune::base {

/// "not JSON (byte 17)", "'host' is missing", "a value is a string; a number was expected".
std::string json_error_text(const nlohmann::json::exception& error);

}  // namespace xtune::base
