// Several processes share a search that learns nothing: its sequence is divided into blocks, each claimed by one
// process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "core/run/peers.hpp"
#include "core/search/strategy.hpp"

namespace xtune::run {

/// Each process begins in its own part of the sequence and takes one block after another, so that two processes rarely
/// claim the same one. A process that has finished its part takes blocks of the other parts, also those whose owners
/// have ended. The records of other processes show which of their numbers are done, in any order.
///
/// The number of claims is little more than the number of blocks that a process works on, however large the space is:
/// about 64 for each process, or blocks of 64.
class BlockWalk {
 public:
  /// name: the same for processes with the same sequence, different for others. Both references must outlive it.
  BlockWalk(const search::Sequence& sequence, Peers& peers, std::string name);

  /// The next number of the sequence for this process; nullopt: none for now (see look), or none any more. Throws
  /// Error(io).
  std::optional<std::uint64_t> next();
  /// Skips numbers of other processes for which has_come (whether the outcome is known here) returns true, up to budget
  /// numbers; returns whether there may be more to skip now. Numbers that are still missing may then be taken over.
  bool look(const std::function<bool(std::uint64_t number)>& has_come, std::uint64_t budget);
  /// Whether the outcome of every number is known or ours.
  bool over() const noexcept { return ours_.empty() && own_ == own_end_ && theirs_.empty(); }
  std::uint64_t block_size() const noexcept { return block_size_; }

 private:
  struct Range {
    std::uint64_t begin, end;  ///< numbers
  };
  bool take(std::uint64_t block);
  Range range_of(std::uint64_t block) const;
  std::uint64_t first_block(const Range& range) const;
  std::uint64_t blocks_of(const Range& range) const;
  void take_from_others();
  void cut_out(std::size_t place, std::uint64_t block);

  Peers& peers_;
  std::string name_;
  std::uint64_t size_, block_size_;
  std::uint64_t own_ = 0, own_end_ = 0;  ///< blocks of our part that were not claimed yet
  std::vector<Range> ours_;              ///< remaining numbers of the blocks that we have
  std::vector<Range> theirs_;            ///< not known to be done, ascending
  base::Random random_;
  bool looked_ = false;  ///< since there was nothing left to take over
};

}  // namespace xtune::run
