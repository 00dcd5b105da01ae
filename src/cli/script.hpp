// Scripts in Python that translate from and to the formats of other programs (python/xtune/compat).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace xtune::cli {

/// The answer of the script NAME.py to the request, which gets xtune's version; its warnings are appended. Throws the
/// script's refusal as Error, Error(unavailable) with the Debian package that is missing, and Error(io) if the script
/// itself fails.
nlohmann::ordered_json script_answer(const std::string& name, nlohmann::ordered_json request,
                                     std::vector<std::string>& warnings);

}  // namespace xtune::cli
