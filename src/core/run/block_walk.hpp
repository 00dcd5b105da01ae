// Several processes at one search that learns nothing: its sequence in blocks, each claimed by one of them.
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

/// Each process begins in a part of the sequence of its own and takes block after block of it, so that two hardly ever
/// ask for the same one. Who is done with its part takes blocks of the others', and those whose owners are
/// gone. What others have is known by their records, in whatever order they come.
///
/// So a process asks for little more claims than it works off blocks, however large the space is: some 64 a process, or
/// blocks of 64.
class BlockWalk {
 public:
  /// name: the same for processes that go through the same sequence, and for no others. Both references outlive it.
  BlockWalk(const search::Sequence& sequence, Peers& peers, std::string name);

  /// The next number of the sequence that is ours to see to; nullopt: none for now (see look), or none any more. Throws
  /// Error(io).
  std::optional<std::uint64_t> next();
  /// Goes through what others have, as far as has_come (whether the outcome of that number is known here) says yes,
  /// for budget numbers at most; whether there may be more at once. What is still missing then may be taken over.
  bool look(const std::function<bool(std::uint64_t number)>& has_come, std::uint64_t budget);
  /// Every number was ours or has come.
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
  std::uint64_t own_ = 0, own_end_ = 0;  ///< blocks of our part that were not asked for
  std::vector<Range> ours_;              ///< what is left of the blocks that we have
  std::vector<Range> theirs_;            ///< not known to be done; by number
  base::Random random_;
  bool looked_ = false;  ///< since nothing was left to take over
};

}  // namespace xtune::run
