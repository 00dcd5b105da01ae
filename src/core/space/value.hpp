// The values of a space's configuration, and their texts.
#pragma once

#include <string>
#include <vector>

#include "xtune/value.hpp"

namespace xtune::space {

/// One value for each parameter of a Space, in the order of the spec.
using Config = std::vector<Value>;

/// The text a compiler's -D gets: booleans as 1 and 0, the rest as to_text.
std::string to_define(const Value& value);

/// "boolean", "integer", "float" or "string".
const char* type_name(const Value& value) noexcept;

/// Throws Error(invalid_argument) for text that is not valid UTF-8: records, which are JSON, cannot hold it. The
/// message opens with `where`: "-D MODE".
void require_utf8(const std::string& where, const Value& value);

}  // namespace xtune::space
