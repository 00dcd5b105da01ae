// The barriers 1 to 15 of a block (bar.sync, bar.arrive), for some of its threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace xtune::host {

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
