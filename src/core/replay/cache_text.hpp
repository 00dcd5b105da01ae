// The JSON of a Kernel Tuner cache file, which may be incomplete.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace xtune::replay {

/// Parses the text. NaN and infinities, which Python's json writes although JSON does not have them, are read as null.
/// Text that ends within the entries is closed after the last complete one, with a warning if something was cut off.
/// Throws Error(invalid_argument) that opens with name for other text that is not JSON.
nlohmann::json parse_cache_text(const std::string& text, const std::string& name, std::vector<std::string>& warnings);

}  // namespace xtune::replay
