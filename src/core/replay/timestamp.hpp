// Points in time in the format of Python's datetime.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace xtune::replay {

/// "2023-12-22 13:17:23.719843+00:00" (also with T; fraction and offset may be missing, no offset means UTC) in
/// milliseconds since 1970. nullopt: another format.
std::optional<std::int64_t> unix_time_ms_of(std::string_view text) noexcept;

}  // namespace xtune::replay
