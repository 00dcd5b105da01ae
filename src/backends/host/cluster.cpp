// A turn is a flag that its block sleeps on.
#include "backends/host/cluster.hpp"

#include <fmt/core.h>

#include <bit>

#include "backends/host/refusal.hpp"

namespace xtune::host {

void Cluster::begin(unsigned blocks, std::uint32_t threads_of_block) {
  blocks_ = blocks;
  unfinished_ = (1u << blocks) - 1;
  started_ = idle_ = 0;
  stopped_ = false;
  live_ = blocks * threads_of_block;
  arrived_ = 0;
  phase_ = 0;
}

void Cluster::take_turn(unsigned rank) {
  std::atomic<std::uint32_t>& turn = turns_[rank];
  while (turn.exchange(0) == 0) turn.wait(0);
}

void Cluster::give_turn(unsigned rank) {
  turns_[rank] = 1;
  turns_[rank].notify_one();
}

unsigned Cluster::next_after(unsigned rank) const {
  unsigned next = rank;
  do {
    next = (next + 1) % blocks_;
  } while (has_ended(next) && next != rank);
  return next;
}

bool Cluster::pass(unsigned rank, bool worked) {
  if (stopped_) return false;
  idle_ = worked ? 1 : idle_ + 1;
  // Each block has had its turn since one of them changed anything.
  if (idle_ > static_cast<unsigned>(std::popcount(unfinished_))) return false;
  const unsigned next = next_after(rank);
  if (next == rank) return worked;
  give_turn(next);
  take_turn(rank);
  return !stopped_;
}

bool Cluster::end(unsigned rank) {
  unfinished_ &= ~(1u << rank);
  idle_ = 0;
  if (unfinished_ != 0) {
    give_turn(next_after(rank));
    return false;
  }
  if (rank != 0) give_turn(0);
  return true;
}

const SharedWindow& Cluster::window(unsigned rank) const {
  if (rank >= blocks_)
    throw Refusal(
        fmt::format("rank {} in a cluster of {} blocks, whose ranks are 0 to {}", rank, blocks_, blocks_ - 1));
  if (!has_started(rank))
    throw Refusal(
        fmt::format("block {} of the cluster may not have started yet: all must pass cluster_sync() before its "
                    "shared memory is used",
                    rank));
  if (has_ended(rank))
    throw Refusal(
        fmt::format("the shared memory of block {} of the cluster is used after that block has ended: all "
                    "must pass cluster_sync() before",
                    rank));
  return windows_[rank];
}

std::uint32_t Cluster::remote_address(unsigned own_rank, const void* pointer, unsigned rank) const {
  window(rank);
  const std::uint32_t address = host::remote_address(windows_[own_rank], pointer, rank);
  if (address == 0) throw Refusal("remote_address() of a variable that is not in the block's shared memory");
  return address;
}

void* Cluster::remote_pointer(std::uint32_t address, std::size_t bytes) const {
  const RemotePlace place = remote_place(address);
  const SharedWindow& there = window(place.rank);
  std::byte* const pointer = (place.is_dynamic ? there.dynamic : there.variables) + place.offset;
  if (!there.contains(pointer, bytes))
    throw Refusal(
        fmt::format("address {:#x} is not in the shared memory of block {} of the cluster", address, place.rank));
  return pointer;
}

void Cluster::release() {
  if (arrived_ != live_ || live_ == 0) return;
  arrived_ = 0;
  ++phase_;
}

void Cluster::arrive(Arrival& thread) {
  if (thread.arrived) throw Refusal("cluster_arrive() is called twice without cluster_wait()");
  thread = {true, phase_};
  ++arrived_;
  release();
}

void Cluster::end_thread(const Arrival& thread) {
  if (thread.arrived && !is_complete(thread)) --arrived_;
  --live_;
  release();
}

std::string Cluster::barrier_text() const {
  return fmt::format("at cluster_wait(), where {} of the cluster's {} threads have arrived", arrived_, live_);
}

}  // namespace xtune::host
