// Products by a warpgroup (wgmma): 64 x N sums from operands in shared memory or registers, each done as late as
// possible: when all 128 threads wait for it. Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/hopper/cluster.hpp"
#include "runtime/host/xtune_host_hopper_abi.h"

namespace xtune::host {

constexpr unsigned warpgroup_threads = 128, product_rows = 64, max_product_columns = 256;

/// Throws Refusal for a number of columns, an order of elements or a place in shared memory that the instruction does
/// not take.
void check_product(const XtuneProduct& product, const SharedWindow& window);

/// Each thread's registers: the sums, and those with x, if x is not in shared memory.
struct WarpgroupRegisters {
  std::array<void*, warpgroup_threads> sums;
  std::array<std::array<std::uint32_t, 4>, warpgroup_threads> x;
};

/// The products that the 128 threads of a warpgroup have started. Threads come one after the other: the n-th product of
/// each is the same one.
class Warpgroup {
 public:
  /// `thread`: 0 to 127. Operands must be those of the warpgroup's other threads. Throws Refusal.
  void begin(unsigned thread) { threads_[thread].fenced = true; }
  void start(unsigned thread, const XtuneProduct& product);
  void commit(unsigned thread);
  /// Asks for all but the last `pending` groups; returns the number of products that must be done.
  std::uint64_t want(unsigned thread, std::uint64_t pending);
  bool is_done(std::uint64_t products) const { return done_ >= products; }
  std::string text(std::uint64_t products) const;
  /// Whether a product that is not done reads some of these bytes.
  bool reads(const ByteRange& range) const;

 private:
  struct Thread {
    bool fenced = false;
    std::uint64_t started = 0, wanted = 0;
    std::vector<std::uint64_t> groups;  ///< products that had been started at each commit
  };
  struct Started {
    XtuneProduct product;
    unsigned threads = 0;
    WarpgroupRegisters registers;
  };
  std::array<Thread, warpgroup_threads> threads_;
  std::deque<Started> products_;  ///< from number done_ on
  std::uint64_t done_ = 0;
};

/// Those of a block; a thread's number is that in the block.
class Warpgroups {
 public:
  void begin(std::uint32_t threads);
  /// Throws Refusal for a thread that does not belong to a whole warpgroup.
  Warpgroup& of(std::uint32_t thread);
  bool reads(const ByteRange& range) const;

 private:
  std::uint32_t threads_ = 0;
  std::vector<std::unique_ptr<Warpgroup>> groups_;  ///< nullptr: it has started no product
};

}  // namespace xtune::host
