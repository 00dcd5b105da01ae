// The states are kept outside of shared memory, where a barrier's number replaces it: a kernel that overwrites a
// barrier is found.
#include "backends/host/hopper/barriers.hpp"

#include <fmt/core.h>

#include "backends/host/block/block_runner.hpp"

namespace xtune::host {
namespace {

constexpr std::uint32_t max_count = (1u << 20) - 1;
constexpr unsigned long long mark = 0xBA881E0000000000u;

}  // namespace

void MemoryBarrier::count_bytes(std::int64_t count) {
  bytes += count;
  if (bytes > std::int64_t{max_count} || bytes < -std::int64_t{max_count})
    throw Refusal(fmt::format("{} counts at most {} bytes", text(), max_count));
}

void MemoryBarrier::end_phase() {
  if (missing != 0 || bytes != 0) return;
  ++phases;
  missing = arrivals;
}

void MemoryBarrier::arrive() {
  if (missing == 0) throw Refusal(fmt::format("{}: one more thread arrives than its count of {}", text(), arrivals));
  --missing;
  end_phase();
}

void MemoryBarrier::expect(std::uint32_t count) { count_bytes(count); }

void MemoryBarrier::complete(std::size_t count) {
  count_bytes(-static_cast<std::int64_t>(count));
  end_phase();
}

std::string MemoryBarrier::text() const {
  const std::string missing_bytes = bytes < 0 ? fmt::format("{} bytes came that were not expected", -bytes)
                                              : fmt::format("{} bytes are missing", bytes);
  return fmt::format("a barrier in shared memory (phase {}, parity {}: {} of {} arrivals are missing, {})", phases,
                     phases % 2, missing, arrivals, missing_bytes);
}

void MemoryBarriers::init(unsigned long long* address, std::uint32_t arrivals, std::uint32_t thread,
                          std::uint64_t epoch) {
  if (arrivals == 0 || arrivals > max_count)
    throw Refusal(fmt::format("a barrier in shared memory was initialised for {} arrivals, and 1 to {} are allowed",
                              arrivals, max_count));
  MemoryBarrier fresh;
  fresh.address = address;
  fresh.arrivals = fresh.missing = arrivals;
  fresh.warp = thread / 32;
  fresh.epoch = epoch;
  for (std::size_t i = 0; i < barriers_.size(); ++i)
    if (barriers_[i].address == address) {
      if (barriers_[i].waiting > 0) throw Refusal("a barrier was initialised while threads wait for it");
      barriers_[i] = fresh;
      *address = mark + i;
      return;
    }
  *address = mark + barriers_.size();
  barriers_.push_back(fresh);
}

MemoryBarrier& MemoryBarriers::at(const unsigned long long* address) {
  const unsigned long long number = *address - mark;
  if (number < barriers_.size() && barriers_[number].address == address) return barriers_[number];
  for (const MemoryBarrier& barrier : barriers_)
    if (barrier.address == address) throw Refusal("the memory of " + barrier.text() + " was overwritten");
  throw Refusal("a barrier in shared memory is used before it was initialised");
}

MemoryBarrier& MemoryBarriers::at(const unsigned long long* address, std::uint32_t thread, std::uint64_t epoch) {
  MemoryBarrier& barrier = at(address);
  if (barrier.epoch == epoch && barrier.warp != thread / 32)
    throw Refusal(
        "a barrier in shared memory is used before other warps see that it was initialised: the block must pass "
        "__syncthreads() or cluster_sync() in between");
  return barrier;
}

std::string MemoryBarriers::wrong_bytes() const {
  for (const MemoryBarrier& barrier : barriers_)
    if (barrier.bytes != 0) return barrier.text();
  return {};
}

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
