// A turn is a flag that its block sleeps on. The loader knows where each library's thread-local variables are.
#include "backends/host/hopper/cluster.hpp"

#include <fmt/core.h>
#include <link.h>

#include <bit>
#include <span>

#include "backends/host/block/block_runner.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::host {
namespace {

bool is_in(const std::byte* base, std::size_t size, const void* address, std::size_t bytes) noexcept {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base);
  return base && offset <= size && bytes <= size - offset;
}

// A place in a block as 32 bits: a rank in the upper bits, then whether it is dynamic memory. Never 0: variables begin
// at 16.
constexpr std::uint32_t rank_shift = 27, dynamic_bit = 1u << 26, offset_mask = dynamic_bit - 1, variables_begin = 16;

}  // namespace

bool SharedWindow::contains(const void* address, std::size_t bytes) const noexcept {
  return !knows_variables || is_in(dynamic, dynamic_bytes, address, bytes) ||
         is_in(variables, variable_bytes, address, bytes);
}

std::byte* SharedWindow::of(const SharedWindow& other, const void* address) const noexcept {
  if (this == &other) return static_cast<std::byte*>(const_cast<void*>(address));
  const auto* const at = static_cast<const std::byte*>(address);
  if (is_in(dynamic, dynamic_bytes, address, 1)) return other.dynamic + (at - dynamic);
  if (is_in(variables, variable_bytes, address, 1)) return other.variables + (at - variables);
  return nullptr;
}

SharedWindow shared_window(const XtuneKernel& kernel, void* dynamic, std::size_t dynamic_bytes, bool sanitized) {
  SharedWindow window{static_cast<std::byte*>(dynamic), nullptr, dynamic_bytes, 0, !sanitized};
  system::visit_object_with(reinterpret_cast<const void*>(kernel.run_thread), [&](const dl_phdr_info& library) {
    window.variables = static_cast<std::byte*>(library.dlpi_tls_data);
    for (const auto& header : std::span(library.dlpi_phdr, library.dlpi_phnum))
      if (header.p_type == PT_TLS && window.variables) window.variable_bytes = header.p_memsz;
  });
  return window;
}

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
  const SharedWindow& own = windows_[own_rank];
  const auto* const at = static_cast<const std::byte*>(pointer);
  if (is_in(own.dynamic, own.dynamic_bytes, at, 0))
    return rank << rank_shift | dynamic_bit | static_cast<std::uint32_t>(at - own.dynamic);
  if (is_in(own.variables, own.variable_bytes, at, 0))
    return rank << rank_shift | (variables_begin + static_cast<std::uint32_t>(at - own.variables));
  throw Refusal("remote_address() of a variable that is not in the block's shared memory");
}

void* Cluster::remote_pointer(std::uint32_t address, std::size_t bytes) const {
  const unsigned rank = address >> rank_shift;
  const std::size_t offset = address & offset_mask;
  const SharedWindow& there = window(rank);
  std::byte* const pointer =
      (address & dynamic_bit) != 0 ? there.dynamic + offset : there.variables + offset - variables_begin;
  if (!there.contains(pointer, bytes))
    throw Refusal(fmt::format("address {:#x} is not in the shared memory of block {} of the cluster", address, rank));
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
