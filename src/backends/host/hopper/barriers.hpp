// The barriers of a block with <xtune/hopper.cuh>: those in shared memory (mbarrier), and the named ones (bar.sync).
// Source: PTX ISA, "Parallel Synchronization and Communication Instructions".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace xtune::host {

/// A phase ends when all arrivals and all bytes of copies have come; the next one begins at once.
struct MemoryBarrier {
  unsigned long long* address = nullptr;
  std::uint32_t arrivals = 0, missing = 0;  ///< of each phase; of this one
  std::int64_t bytes = 0;                   ///< expected and not come; negative: come and not yet expected
  std::uint64_t phases = 0;                 ///< that have ended
  std::uint32_t waiting = 0;                ///< threads
  std::uint32_t warp = 0;                   ///< of the thread that initialised it
  std::uint64_t epoch = 0;                  ///< barriers of the block that had been passed then

  /// Throw Refusal for more arrivals than the phase has, and more bytes than a barrier counts.
  void arrive();
  void expect(std::uint32_t count);
  void complete(std::size_t count);
  /// Whether the phase of this parity has ended, and the next one has not.
  bool has_ended(std::uint32_t parity) const { return phases % 2 != parity % 2; }
  /// "a barrier in shared memory (phase 3 of parity 0; 1 of 2 arrivals and 4096 bytes are missing)"
  std::string text() const;

 private:
  void count_bytes(std::int64_t count);
  void end_phase();
};

/// Those in the shared memory of one block.
class MemoryBarriers {
 public:
  void clear() { barriers_.clear(); }
  void init(unsigned long long* address, std::uint32_t arrivals, std::uint32_t thread, std::uint64_t epoch);
  /// The initialised barrier. Throws Refusal if there is none, if its memory was overwritten, or if its initialisation
  /// is not visible yet: a thread of another warp uses it before the block has passed a barrier.
  MemoryBarrier& at(const unsigned long long* address, std::uint32_t thread, std::uint64_t epoch);
  /// The same for a copy or another block.
  MemoryBarrier& at(const unsigned long long* address);
  /// The first whose bytes were not as expected; empty: none.
  std::string wrong_bytes() const;

 private:
  /// A reference remains valid until clear().
  std::deque<MemoryBarrier> barriers_;
};

/// The barriers 1 to 15 of a block, for some of its threads.
class NamedBarriers {
 public:
  void clear() { barriers_ = {}; }
  /// Returns the phase that the thread's arrival belongs to. Throws Refusal for a number, or a count of threads, that
  /// is not allowed, or differs from that of the threads before.
  std::uint64_t arrive(int barrier, int threads, std::uint32_t block_threads);
  bool is_complete(int barrier, std::uint64_t phase) const { return at(barrier).phase > phase; }
  std::string text(int barrier) const;

 private:
  struct Barrier {
    std::uint32_t expected = 0, arrived = 0;
    std::uint64_t phase = 0;
  };
  const Barrier& at(int barrier) const { return barriers_[static_cast<std::size_t>(barrier)]; }
  std::array<Barrier, 16> barriers_{};
};

}  // namespace xtune::host
