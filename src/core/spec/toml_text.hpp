// Values as TOML text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::spec {

/// A basic string, for any text.
std::string toml_string(std::string_view text);
std::string toml_text(const Value& value);
std::string toml_list(const std::vector<Value>& values);  ///< "[1, 2]"

}  // namespace xtune::spec
