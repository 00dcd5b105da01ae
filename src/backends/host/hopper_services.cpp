// Each calls the running block, and ends it where it refuses.
#include "backends/host/hopper_services.hpp"

#include <string>
#include <utility>

#include "backends/host/hopper_block.hpp"
#include "backends/host/refusal.hpp"

namespace xtune::host {
namespace {

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

}  // namespace

const XtuneHopperServices& hopper_services() {
  static const XtuneHopperServices calls = {
      [] { return running_block().rank(); },
      [] { return running_block().cluster().blocks(); },
      [] { call([](HopperBlock& block) { block.cluster().arrive(block.thread().arrival); }); },
      [] { call([](HopperBlock& block) { block.cluster_wait(); }); },
      [](const void* pointer, unsigned rank) -> unsigned {
        return call([&](HopperBlock& block) { return block.cluster().remote_address(block.rank(), pointer, rank); });
      },
      [](unsigned address, unsigned bytes) -> void* {
        return call([&](HopperBlock& block) { return block.cluster().remote_pointer(address, bytes); });
      },
      [](unsigned long long* barrier, unsigned arrivals) {
        call([&](HopperBlock& block) { block.init(barrier, arrivals); });
      },
      [](unsigned long long* barrier, unsigned bytes) {
        call([&](HopperBlock& block) { block.arrive(barrier, bytes); });
      },
      [](unsigned long long* barrier, unsigned rank) {
        call([&](HopperBlock& block) { block.arrive_remote(barrier, rank); });
      },
      [](unsigned long long* barrier, unsigned parity) {
        call([&](HopperBlock& block) { block.wait(barrier, parity); });
      },
      [](const XtuneTile* tile) { call([&](HopperBlock& block) { block.load_tile(*tile); }); },
      [](const XtuneTile* tile) { call([&](HopperBlock& block) { block.store_tile(*tile); }); },
      [] { call([](HopperBlock& block) { block.thread().stores.commit(); }); },
      [](unsigned pending, bool read) { call([&](HopperBlock& block) { block.thread().stores.wait(pending, read); }); },
      [](int barrier, int threads, bool wait) {
        call([&](HopperBlock& block) { block.named(barrier, threads, wait); });
      },
      [] { call([](HopperBlock& block) { block.warpgroup().begin(block.thread_of_warpgroup()); }); },
      [](const XtuneProduct* product) { call([&](HopperBlock& block) { block.product(*product); }); },
      [] { call([](HopperBlock& block) { block.warpgroup().commit(block.thread_of_warpgroup()); }); },
      [](unsigned pending) { call([&](HopperBlock& block) { block.products_wait(pending); }); },
      [](const void* row) { call([&](HopperBlock& block) { block.check_matrix_row(row); }); },
  };
  return calls;
}

}  // namespace xtune::host
