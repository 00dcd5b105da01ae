// Values that are worth trying for a parameter, by its name and its default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::outline {

/// Around a default: powers of two around a power of two; 0 and 1 for a switch. Without one, by the name: BLOCK,
/// UNROLL, USE_SHARED. is_condition: the source asks only whether it is zero.
std::vector<Value> plausible_values(const std::string& name, std::optional<std::int64_t> value, bool is_condition);

/// "16", "0x10", "16u"; nullopt: no integer that fits.
std::optional<std::int64_t> integer_of(const std::string& literal);

/// "BlockSize" as "BLOCK_SIZE".
std::string macro_case(const std::string& name);

}  // namespace xtune::outline
