// The JSON of a Kernel Tuner cache file, also of one that is not finished.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace xtune::replay {

/// Parses the text. NaN and infinities, which Python's json writes and JSON does not have, are read as null. Text that
/// ends amid the entries is closed after the last whole one, with a warning when something was cut off. Throws
/// Error(invalid_argument) that opens with name for anything else that is not JSON.
nlohmann::json parse_cache_text(const std::string& text, const std::string& name, std::vector<std::string>& warnings);

}  // namespace xtune::replay
