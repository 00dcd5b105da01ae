// Fibers, barriers and warp operations, with kernels that are plain functions.
#include "backends/host/block/block_runner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace xtune::host;

namespace {

/// What each thread of the block does, given its linear index and the services.
std::function<void(unsigned)> thread_body;
const XtuneServices& services = BlockRunner::services();

XtuneKernel kernel() {
  XtuneKernel k{};
  k.uses_fibers = true;
  k.run_thread = [](void* const*, XtuneUint3 index) { thread_body(index.x); };
  return k;
}

std::string run(BlockRunner& runner, unsigned threads, std::function<void(unsigned)> work) {
  thread_body = std::move(work);
  return runner.run(kernel(), nullptr, {threads, 1, 1});
}

XtuneLane meet(unsigned mask, int source, int predicate, unsigned long long value, int line = 0) {
  XtuneLane lane = {mask, line, source, predicate, value, 0, 0};
  services.warp(&lane);
  return lane;
}

constexpr std::size_t stack_bytes = 65536;

}  // namespace

TEST_CASE("no thread passes a barrier before all have arrived") {
  BlockRunner runner(stack_bytes);
  for (const unsigned threads : {1u, 2u, 33u, 256u, 1024u, 7u}) {
    unsigned before = 0, too_early = 0;
    unsigned long long counts = 0;
    CHECK(run(runner, threads, [&](unsigned i) {
            ++before;
            counts = services.barrier(i % 2 == 0);
            too_early += before != threads;
          }) == "");
    CHECK(too_early == 0);
    CHECK((counts >> 32) == threads);
    CHECK((counts & 0xffffffffu) == (threads + 1) / 2);
  }
}

TEST_CASE("threads that have ended are waited for no longer") {
  BlockRunner runner(stack_bytes);
  std::vector<unsigned> arrived;
  CHECK(run(runner, 100, [&](unsigned i) {
          if (i % 3 == 0) return;
          arrived.push_back(static_cast<unsigned>(services.barrier(0) >> 32));
          if (i % 3 == 1) return;
          arrived.push_back(static_cast<unsigned>(services.barrier(0) >> 32));
        }) == "");
  CHECK(std::count(arrived.begin(), arrived.end(), 66u) == 66);
  CHECK(std::count(arrived.begin(), arrived.end(), 33u) == 33);
}

TEST_CASE("a warp operation exchanges within its mask, and disjoint masks do not wait for each other") {
  BlockRunner runner(stack_bytes);
  std::vector<unsigned long long> got(48);
  std::vector<unsigned> ballots(48);
  CHECK(run(runner, 48, [&](unsigned i) {
          const unsigned mask = i % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
          const XtuneLane lane = meet(mask, static_cast<int>((i % 32) ^ 1u), i % 4 == 0, 100 + i);
          got[i] = lane.value;
          ballots[i] = lane.ballot;
          if (mask == 0xffffu) CHECK(lane.participants == 0xffffu);
        }) == "");
  for (unsigned i = 0; i < 48; ++i) CHECK(got[i] == 100 + (i ^ 1u));
  CHECK(ballots[3] == 0x00001111u);
  CHECK(ballots[30] == 0x11110000u);
  CHECK(ballots[40] == 0x00001111u);
}

TEST_CASE("a deadlock names the mask that the kernel gave, not what became of it") {
  BlockRunner runner(stack_bytes);
  const std::string failure = run(runner, 32, [&](unsigned i) {
    if (i == 16)
      meet(0x0000ffffu, -1, 0, 0);
    else
      services.barrier(0);
  });
  CHECK_MESSAGE(failure.find("1 of warp 0 wait in a warp operation with mask 0x0000ffff;") != std::string::npos,
                failure);
}

TEST_CASE("a lane keeps its value when its source takes no part") {
  BlockRunner runner(stack_bytes);
  unsigned long long outside = 0, none = 0;
  CHECK(run(runner, 8, [&](unsigned i) {
          const XtuneLane lane = meet(0xffu, i == 0 ? 20 : -1, 0, i + 1);
          if (i == 0) outside = lane.value;
          if (i == 7) none = lane.value;
        }) == "");
  CHECK(outside == 1);
  CHECK(none == 8);
}

TEST_CASE("without a mask, those meet who come to the same place") {
  BlockRunner runner(stack_bytes);
  std::vector<unsigned> participants(64);
  CHECK(run(runner, 64, [&](unsigned i) {
          if (i % 32 < 8) participants[i] = meet(0, -1, 0, 0).participants;
          services.barrier(0);
          if (i % 32 >= 8) participants[i] = meet(0, -1, 0, 0).participants;
        }) == "");
  for (unsigned i = 0; i < 64; ++i) CHECK(participants[i] == (i % 32 < 8 ? 0x000000ffu : 0xffffff00u));
}

TEST_CASE("without a mask, the lanes of both sides of a branch do not meet") {
  BlockRunner runner(stack_bytes);
  std::vector<unsigned> participants(48);
  CHECK(run(runner, 48, [&](unsigned i) { participants[i] = meet(0, -1, 0, 0, i % 2 == 0 ? 7 : 9).participants; }) ==
        "");
  for (unsigned i = 0; i < 48; ++i)
    CHECK(participants[i] == ((i < 32 ? 0xffffffffu : 0x0000ffffu) & (i % 2 == 0 ? 0x55555555u : 0xaaaaaaaau)));
}

TEST_CASE("threads that wait for each other for ever are found, and the runner goes on") {
  BlockRunner runner(stack_bytes);
  for (int round = 0; round < 3; ++round) {
    const std::string failure = run(runner, 64, [&](unsigned i) {
      if (i == 5)
        meet(0xffffffffu, -1, 0, 0);
      else
        services.barrier(0);
    });
    CHECK(failure.find("63 wait at __syncthreads()") != std::string::npos);
    CHECK(failure.find("warp 0") != std::string::npos);
    unsigned done = 0;
    CHECK(run(runner, 128, [&](unsigned) {
            services.barrier(0);
            ++done;
          }) == "");
    CHECK(done == 128);
  }
}

TEST_CASE("a thread that yields lets the others go first") {
  BlockRunner runner(stack_bytes);
  bool flag = false;
  int turns = 0;
  CHECK(run(runner, 2, [&](unsigned i) {
          if (i == 1) flag = true;
          while (!flag && turns < 1000) ++turns, services.yield();
        }) == "");
  CHECK(turns == 1);
}

TEST_CASE("each fiber has room for deep frames") {
  BlockRunner runner(stack_bytes);
  std::vector<int> sums(300);
  CHECK(run(runner, 300, [&](unsigned i) {
          volatile int local[8000];
          for (int k = 0; k < 8000; ++k) local[k] = static_cast<int>(i);
          services.barrier(0);
          int sum = 0;
          for (int k = 0; k < 8000; ++k) sum += local[k];
          sums[i] = sum;
        }) == "");
  for (int i = 0; i < 300; ++i) CHECK(sums[static_cast<std::size_t>(i)] == 8000 * i);
}

TEST_CASE("without guard pages, a canary reveals an overflow") {
  const Stacks many(16385, 4096);  // one more than the guards of a process
  CHECK(many.intact(3));
  many.bottom(3)[-1] = std::byte{1};
  CHECK_FALSE(many.intact(3));
  CHECK(many.intact(4));
  CHECK_THROWS(Stacks(std::size_t{1} << 40, std::size_t{1} << 30));
}
