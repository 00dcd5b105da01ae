// The values of a space's configuration, and their text forms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "xtune/value.hpp"

namespace xtune::space {

/// One value for each parameter of a Space, in the order of the spec.
using Config = std::vector<Value>;

/// The text for a compiler's -D: booleans as 1 and 0, other values as to_text.
std::string to_define(const Value& value);

/// "boolean", "integer", "float" or "string".
const char* type_name(const Value& value) noexcept;

/// An integer or a float as a float; nullopt for other types.
std::optional<double> number_of(const Value& value) noexcept;
/// An integer, or a float that is one and fits 64 bits.
std::optional<std::int64_t> integer_of(const Value& value) noexcept;
/// As number_of, with a boolean as 1 or 0.
std::optional<double> number_or_flag(const Value& value) noexcept;

/// nullptr if the name is not bound.
const Value* find_value(const Bindings& bindings, std::string_view name) noexcept;

/// Throws Error(invalid_argument) for text that is not valid UTF-8: records, which are JSON, cannot hold it. The
/// message opens with `where`: "-D MODE".
void require_utf8(const std::string& where, const Value& value);

}  // namespace xtune::space
