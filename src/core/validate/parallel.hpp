// Splits a range of work over the machine's cores, for reference computations and comparisons of whole arrays.
#pragma once

#include <cstdint>
#include <functional>

namespace xtune::validate {

/// Calls body(begin, end) for pieces of up to `grain` that cover [0, count) exactly once, on as many threads as this
/// process may use cores. The pieces depend only on count and grain, so sums per piece are the same on any machine.
/// body must be safe to call from several threads; its first exception is rethrown here after all threads have ended.
void parallel_for(std::uint64_t count, std::uint64_t grain,
                  const std::function<void(std::uint64_t, std::uint64_t)>& body);

}  // namespace xtune::validate
