// Which waves wrote and read each byte of a workgroup's LDS, to find accesses that no barrier orders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fault.hpp"

namespace xtune::emulator {

/// What an access does. fetch: an update that gives the old value.
enum class Use { read, write, update, fetch };

struct LdsAccess {
  int wave = 0, lane = 0;
  std::uint32_t number = 0;  ///< among the LDS accesses of the wave, from 1 on
  std::size_t address = 0, bytes = 0;
  Use use = Use::read;
};

/// Vector clocks: each wave counts its own intervals, which end where it signals a barrier or updates LDS, and knows up
/// to which interval of each other wave its own instructions come later. Two accesses of a byte by different waves, of
/// which at least one writes, are ordered by a barrier or by a chain of updates, or are a race.
class LdsHistory {
 public:
  /// What an access does wrong.
  struct Mistake {
    FaultKind kind;
    int lane;
    std::string words;
    bool after_update = false;  ///< a plain read of what another wave has updated atomically
    bool unwritten = false;     ///< a plain read of what no lane has written
  };

  void begin(std::size_t bytes, std::size_t waves);
  /// lds: the memory before the access. A write that races is a mistake only if it changes a byte: see unsettled().
  std::optional<Mistake> access(const LdsAccess& access, const std::byte* lds);
  /// Whether writes since the last settle() are mistakes if they have changed a byte.
  bool unsettled() const noexcept { return !suspects_.empty(); }
  /// After the instruction's writes. changed: whether they count as changes in any case.
  std::optional<Mistake> settle(const std::byte* lds, bool changed);

  /// Bytes hold undefined values, which come from this read; only_unwritten: those of them that no lane has written.
  void set_undefined(std::size_t address, std::size_t bytes, std::uint16_t read, bool only_unwritten);
  /// 0: what the byte holds is defined, or no read has found yet that it is not.
  std::uint16_t undefined(std::size_t place) const {
    const Cell& cell = dwords_[place / 4];
    return cell.divided ? bytes_[place].undefined : cell.undefined;
  }

  /// A load to LDS was started, whose bytes no wave may read before it arrives.
  void start_copy(std::size_t address, std::size_t bytes);
  void finish_copy(int wave, std::size_t address, std::size_t bytes);

  /// The wave signals a barrier, or ends. arrived: how many of its LDS accesses are known to be done; outstanding:
  /// whether others are not. Their stores are not visible to those who wait at the barrier.
  void signal(int wave, std::uint32_t arrived, bool outstanding);
  /// The wave goes on after a barrier that all have signalled.
  void pass(int wave);

 private:
  /// The interval of a wave: its number, the wave, and a bit for an atomic update. 0: none.
  using Mark = std::uint32_t;
  struct Cell {
    Mark write = 0, other_write = 0;  ///< the last; and an update of another wave that is not ordered with it
    Mark read = 0, other_read = 0;    ///< since the last write, by two waves
    std::uint32_t number = 0;         ///< of the write among the LDS accesses of its wave; 0: none of these
    std::uint16_t undefined = 0;
    bool copying = false, not_waited = false, divided = false;
  };
  struct Suspect {
    Mistake mistake;
    std::size_t place, bytes;
    std::array<std::byte, 4> old;
  };
  enum class Conflict : std::uint8_t { none, unwritten, copying, write, read };
  struct Found {
    Conflict conflict = Conflict::none;
    Mark with = 0;
    bool not_waited = false;
  };

  static int wave_of(Mark mark) { return static_cast<int>(mark >> 1 & 31); }
  std::uint32_t* seen(int wave) { return seen_.data() + static_cast<std::size_t>(wave) * waves_; }
  bool unordered(Mark mark, int wave) {
    const int other = wave_of(mark);
    return other != wave && mark >> 6 > seen(wave)[other];
  }
  /// Whether a wait is what an unordered write lacks: the wave has passed the barrier that the writer signalled last.
  bool not_waited(const Cell& cell, Mark mark, int wave) {
    return cell.not_waited && seen(wave)[wave_of(mark)] + 1 >= mark >> 6;
  }
  Mark mark_of(int wave, bool atomic) {
    return seen(wave)[wave] << 6 | static_cast<Mark>(wave) << 1 | (atomic ? 1 : 0);
  }

  Found touch(Cell& cell, int wave, std::uint32_t number, Use use);
  Found touch_read(Cell& cell, int wave);
  Found touch_write(Cell& cell, int wave, std::uint32_t number, bool atomic);
  void divide(std::size_t dword);
  void order_update(int wave, std::size_t dword, bool fetches);
  void next_interval(int wave);
  template <class F>
  void each_cell(std::size_t address, std::size_t bytes, const F& f);
  static Mistake mistake_of(const Found& found, std::size_t place, const LdsAccess& access);

  std::size_t waves_ = 0;
  std::vector<Cell> dwords_, bytes_;          ///< bytes_: of the dwords that are divided
  std::vector<std::uint32_t> seen_;           ///< for each wave the intervals of all
  std::vector<std::uint32_t> signalled_;      ///< what waves had seen that have signalled the barrier
  std::vector<std::uint32_t> updated_;        ///< what waves had seen that have updated a dword
  std::vector<std::uint8_t> updated_lately_;  ///< waves whose next access begins an interval
  std::vector<Suspect> suspects_;
};

}  // namespace xtune::emulator
