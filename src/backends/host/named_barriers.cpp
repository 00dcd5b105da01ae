// A phase ends when the last thread arrives.
#include "backends/host/named_barriers.hpp"

#include <fmt/core.h>

#include "backends/host/refusal.hpp"

namespace xtune::host {

std::uint64_t NamedBarriers::arrive(int barrier, int threads, std::uint32_t block_threads) {
  if (barrier < 1 || barrier > 15)
    throw Refusal(fmt::format("named barrier {}: 1 to 15 are allowed (0 is that of __syncthreads)", barrier));
  if (threads <= 0 || threads % 32 != 0 || static_cast<std::uint32_t>(threads) > block_threads)
    throw Refusal(fmt::format("named barrier {} for {} threads: a multiple of 32 up to the block's {} is needed",
                              barrier, threads, block_threads));
  Barrier& state = barriers_[static_cast<std::size_t>(barrier)];
  if (state.arrived == 0) state.expected = static_cast<std::uint32_t>(threads);
  if (state.expected != static_cast<std::uint32_t>(threads))
    throw Refusal(fmt::format("named barrier {} for {} threads: others wait there for {} threads", barrier, threads,
                              state.expected));
  const std::uint64_t phase = state.phase;
  if (++state.arrived == state.expected) {
    state.arrived = 0;
    ++state.phase;
  }
  return phase;
}

std::string NamedBarriers::text(int barrier) const {
  return fmt::format("at named barrier {}, where {} of {} threads have arrived", barrier, at(barrier).arrived,
                     at(barrier).expected);
}

}  // namespace xtune::host
