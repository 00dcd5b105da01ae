// Resource usage from what ptxas prints with -v.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/build/artifact.hpp"

namespace xtune::gpu {

/// Reads the lines of the entry function alone; a log may speak of several. Fields that the log does not tell stay
/// unset. Format: CUDA Binary Utilities and nvcc documentation, `--resource-usage`; toolkits from 9 to 13 differ in
/// blanks and order.
build::ResourceUsage parse_ptxas_log(std::string_view log, std::string_view entry_symbol);

/// The most static shared memory that any entry of the log declares, bytes; 0 when none does.
std::int64_t largest_static_shared(std::string_view log);

}  // namespace xtune::gpu
