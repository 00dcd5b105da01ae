// Resource usage from the output of ptxas -v.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/build/artifact.hpp"

namespace xtune::gpu {

/// Reads only the lines of the entry function; a log may have several. Fields that are not in the log stay unset.
/// Format: CUDA Binary Utilities and nvcc documentation, `--resource-usage`; toolkits from 9 to 13 differ in blanks and
/// order.
build::ResourceUsage parse_ptxas_log(std::string_view log, std::string_view entry_symbol);

/// The maximum static shared memory that an entry of the log declares, bytes; 0 if there is none.
std::int64_t largest_static_shared(std::string_view log);

}  // namespace xtune::gpu
