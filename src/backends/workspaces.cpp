// A thread remembers the blocks of its last queues.
#include "backends/workspaces.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace xtune::backend {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Workspaces::Workspaces(Allocate allocate) : id_(next_id()), allocate_(std::move(allocate)) {}

void* Workspaces::block(const Queue& queue, void* stream, std::size_t bytes) {
  constexpr std::size_t remembered = 8;
  thread_local std::array<Known, remembered> known;
  // Addresses of streams are multiples of 16 or more; the first streams of a driver have small numbers.
  const auto order = reinterpret_cast<std::uintptr_t>(queue.order);
  Known& last = known[(order ^ order >> 4 ^ order >> 8 ^ queue.capture ^ id_) % remembered];
  if (last.owner != id_ || last.queue != queue || last.block.bytes < bytes) [[unlikely]]
    last = {id_, queue, grown(queue, stream, bytes)};
  return last.block.address;
}

Workspaces::Block Workspaces::grown(const Queue& queue, void* stream, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Block& block = blocks_[queue];
  if (block.address && block.bytes >= bytes) return block;
  constexpr std::size_t smallest = 64 << 10;
  const std::size_t wanted = std::max({bytes, 2 * block.bytes, smallest});
  kept_.push_back(allocate_(wanted, stream, queue.capture != 0));
  block = {kept_.back().get(), wanted};
  return block;
}

}  // namespace xtune::backend
