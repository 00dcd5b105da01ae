// MessagePack from sources that may be damaged.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace xtune::base {

/// The value; nullopt: the bytes are not exactly one MessagePack value, or it is nested more than `deepest` levels.
/// nlohmann's reader is recursive, and a megabyte of nested arrays would overflow the stack.
std::optional<nlohmann::json> parse_msgpack(std::string_view bytes, std::size_t deepest);

}  // namespace xtune::base
