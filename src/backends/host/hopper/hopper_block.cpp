// Other blocks of the cluster do not run meanwhile: their state is changed directly. Each service calls the running
// block, and ends it where it refuses.
#include "backends/host/hopper/hopper_block.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backends/host/block/block_runner.hpp"

namespace xtune::host {
namespace {

thread_local HopperBlock* block_of_thread = nullptr;

HopperBlock& running_block() { return *block_of_thread; }

void require_aligned(const void* address, std::size_t alignment, const char* what) {
  if (const std::size_t off = reinterpret_cast<std::uintptr_t>(address) % alignment; off != 0)
    throw Refusal(
        fmt::format("{} in shared memory begins {} bytes beyond a multiple of {}, and must begin at a multiple", what,
                    off, alignment));
}

/// Lets other threads run until met() is true. A deadlock's message has text().
template <class Met, class Text>
void wait_until(BlockRunner& runner, const Met& is_met, const Text& words) {
  class Wait final : public Condition {
   public:
    Wait(const Met& is_met, const Text& words) : met_(is_met), text_(words) {}
    bool met() override { return met_(); }
    std::string text() const override { return text_(); }

   private:
    const Met& met_;
    const Text& text_;
  } condition(is_met, words);
  runner.wait_until(condition);
}

/// The exception must be gone before the block ends: its frames are dropped without being unwound.
template <class Action>
auto call(const Action& action) -> decltype(action(running_block())) {
  HopperBlock& block = running_block();
  std::string why;
  try {
    return action(block);
  } catch (const Refusal& refusal) {
    why = refusal.what();
  }
  block.runner().refuse(std::move(why));
  __builtin_unreachable();
}

/// The service that calls this method of the running block.
template <auto method, class... Arguments>
void service(Arguments... arguments) {
  call([&](HopperBlock& block) { (block.*method)(arguments...); });
}

}  // namespace

void HopperBlock::begin(BlockRunner& runner, const SharedWindow& window, std::uint32_t threads,
                        std::span<HopperBlock* const> blocks) {
  runner_ = &runner;
  window_ = window;
  blocks_ = blocks;
  seen_turns_ = 0;
  barriers_.clear();
  named_.clear();
  loads_.clear();
  threads_.resize(threads);
  for (Thread& one : threads_) one.stores.clear(), one.arrival = {};
  warpgroups_.begin(threads);
  block_of_thread = this;
}

void HopperBlock::end() {
  if (loads_.unfinished() > 0)
    throw Refusal(fmt::format("the block ended while {} copies of tiles to its shared memory had not been waited for",
                              loads_.unfinished()));
  if (const std::string wrong = barriers_.wrong_bytes(); !wrong.empty())
    throw Refusal("the block ended, and its copies did not have the expected bytes: " + wrong);
}

void HopperBlock::require_shared(const void* address, std::size_t bytes, const char* what) const {
  if (!window_.contains(address, bytes))
    throw Refusal(fmt::format("{} of {} bytes is not in the block's shared memory", what, bytes));
}

void HopperBlock::check_matrix_row(const void* row) const {
  constexpr std::size_t bytes = 16;
  require_shared(row, bytes, "a row of a matrix");
  require_aligned(row, bytes, "a row of a matrix");
}

bool HopperBlock::advance() {
  if (cluster_.is_stopped()) return false;
  if (loads_.advance(false)) return true;
  const bool worked = runner_->state().turns != seen_turns_;
  seen_turns_ = runner_->state().turns;
  if (cluster_.pass(rank_, worked)) return true;
  if (cluster_.is_stopped()) return false;
  // Bytes that come before they are expected are allowed, so this is the last resort.
  for (unsigned rank = 0; rank < cluster_.blocks(); ++rank)
    if (!cluster_.has_ended(rank) && cluster_.has_started(rank) && blocks_[rank]->loads_.advance(true)) {
      --seen_turns_;
      return true;
    }
  return false;
}

void HopperBlock::end_thread(std::uint32_t thread) {
  threads_[thread].stores.end();
  cluster_.end_thread(threads_[thread].arrival);
}

void HopperBlock::cluster_wait() {
  Cluster::Arrival& arrival = thread().arrival;
  if (!arrival.arrived) throw Refusal("cluster_wait() is called without cluster_arrive() before");
  wait_until(
      *runner_, [&] { return cluster_.is_complete(arrival); }, [&] { return cluster_.barrier_text(); });
  arrival.arrived = false;
  runner_->end_epoch();
}

MemoryBarrier& HopperBlock::barrier_at(const unsigned long long* barrier) {
  require_shared(barrier, sizeof *barrier, "a barrier");
  return barriers_.at(barrier, runner_->state().running, runner_->state().epoch);
}

void HopperBlock::init(unsigned long long* barrier, std::uint32_t arrivals) {
  require_shared(barrier, sizeof *barrier, "a barrier");
  require_aligned(barrier, sizeof *barrier, "a barrier");
  barriers_.init(barrier, arrivals, runner_->state().running, runner_->state().epoch);
}

void HopperBlock::arrive(unsigned long long* barrier, std::uint32_t bytes) {
  MemoryBarrier& state = barrier_at(barrier);
  state.expect(bytes);
  state.arrive();
}

void HopperBlock::arrive_remote(unsigned long long* barrier, unsigned rank) {
  const std::byte* const remote = window_.of(cluster_.window(rank), barrier);
  if (!remote) throw Refusal("arrive_remote() at a barrier that is not in the block's shared memory");
  blocks_[rank]->barriers_.at(reinterpret_cast<const unsigned long long*>(remote)).arrive();
}

void HopperBlock::wait(unsigned long long* barrier, std::uint32_t parity) {
  if (parity > 1)
    throw Refusal(
        fmt::format("wait() for a phase of parity {}: 0 and 1 are allowed; of a phase's number, take the "
                    "last bit",
                    parity));
  MemoryBarrier& state = barrier_at(barrier);
  ++state.waiting;
  wait_until(
      *runner_, [&] { return state.has_ended(parity); },
      [&] { return fmt::format("for the phase of parity {} of {}", parity, state.text()); });
  --state.waiting;
}

void HopperBlock::start_load(const TileLoad& load) {
  const ByteRange range = load.range();
  const auto refuse = [](const char* user) {
    throw Refusal(fmt::format("a tile is copied to shared memory that {}: wait before it is used again", user));
  };
  if (loads_.writes(range)) refuse("another copy, not waited for, writes to");
  if (warpgroups_.reads(range)) refuse("a product, not waited for, reads");
  if (std::ranges::any_of(threads_, [&](const Thread& one) { return one.stores.reads(range); }))
    refuse("a copy to a tensor, not waited for, reads");
  loads_.start(load);
}

void HopperBlock::load_tile(const XtuneTile& tile) {
  const TensorMap& map = checked_map(tile.map, tile.coordinates);
  check_box_address(map, tile.shared);
  require_shared(tile.shared, map.box_bytes(), "a tile");
  require_shared(tile.barrier, sizeof *tile.barrier, "a barrier");
  TileLoad load{map, static_cast<std::byte*>(tile.shared), {}, nullptr};
  std::copy_n(tile.at, tile.coordinates, load.at.begin());
  if (tile.blocks == 0) {
    load.barrier = &barrier_at(tile.barrier);
    start_load(load);
    return;
  }
  for (unsigned rank = 0; tile.blocks >> rank != 0; ++rank) {
    if ((tile.blocks >> rank & 1u) == 0) continue;
    const SharedWindow& window = cluster_.window(rank);
    HopperBlock& other = *blocks_[rank];
    TileLoad part = load;
    part.shared = window_.of(window, tile.shared);
    const std::byte* const barrier = window_.of(window, tile.barrier);
    if (!part.shared || !barrier) throw Refusal("a tile for other blocks must be in a variable that they have, too");
    part.barrier = &other.barriers_.at(reinterpret_cast<const unsigned long long*>(barrier));
    other.start_load(part);
  }
}

void HopperBlock::store_tile(const XtuneTile& tile) {
  const TensorMap& map = checked_map(tile.map, tile.coordinates);
  check_box_address(map, tile.shared);
  require_shared(tile.shared, map.box_bytes(), "a tile");
  thread().stores.start(map, static_cast<const std::byte*>(tile.shared), {tile.at, tile.coordinates});
}

void HopperBlock::named(int barrier, int threads, bool wait) {
  const std::uint64_t phase = named_.arrive(barrier, threads, static_cast<std::uint32_t>(threads_.size()));
  runner_->end_epoch();
  if (!wait) return;
  wait_until(
      *runner_, [&] { return named_.is_complete(barrier, phase); }, [&] { return named_.text(barrier); });
}

void HopperBlock::product(const XtuneProduct& product) {
  check_product(product, window_);
  warpgroup().start(thread_of_warpgroup(), product);
}

void HopperBlock::products_wait(std::uint64_t pending) {
  Warpgroup& group = warpgroup();
  const std::uint64_t products = group.want(thread_of_warpgroup(), pending);
  wait_until(
      *runner_, [&] { return group.is_done(products); }, [&] { return group.text(products); });
}

const XtuneHopperServices& hopper_services() {
  static const XtuneHopperServices calls = {
      [] { return running_block().rank(); },
      [] { return running_block().cluster().blocks(); },
      [] { call([](HopperBlock& block) { block.cluster().arrive(block.thread().arrival); }); },
      service<&HopperBlock::cluster_wait>,
      [](const void* pointer, unsigned rank) -> unsigned {
        return call([&](HopperBlock& block) { return block.cluster().remote_address(block.rank(), pointer, rank); });
      },
      [](unsigned address, unsigned bytes) -> void* {
        return call([&](HopperBlock& block) { return block.cluster().remote_pointer(address, bytes); });
      },
      service<&HopperBlock::init>,
      service<&HopperBlock::arrive>,
      service<&HopperBlock::arrive_remote>,
      service<&HopperBlock::wait>,
      [](const XtuneTile* tile) { call([&](HopperBlock& block) { block.load_tile(*tile); }); },
      [](const XtuneTile* tile) { call([&](HopperBlock& block) { block.store_tile(*tile); }); },
      [] { call([](HopperBlock& block) { block.thread().stores.commit(); }); },
      [](unsigned pending, bool read) { call([&](HopperBlock& block) { block.thread().stores.wait(pending, read); }); },
      service<&HopperBlock::named>,
      [] { call([](HopperBlock& block) { block.warpgroup().begin(block.thread_of_warpgroup()); }); },
      [](const XtuneProduct* product) { call([&](HopperBlock& block) { block.product(*product); }); },
      [] { call([](HopperBlock& block) { block.warpgroup().commit(block.thread_of_warpgroup()); }); },
      service<&HopperBlock::products_wait>,
      service<&HopperBlock::check_matrix_row>,
  };
  return calls;
}

}  // namespace xtune::host
