// The part of a search that other processes of the same job have claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "core/run/run_context.hpp"
#include "core/run/search_path.hpp"
#include "core/run/services.hpp"
#include "core/search/strategy.hpp"
#include "system/event_loop.hpp"

namespace xtune::run {

struct RunParts;

/// Each process begins in its own part of the sequence and takes one block after another, so that two processes rarely
/// claim the same one. A process that has finished its part takes blocks of the other parts, also those whose owners
/// have ended; it asks for a few after each look. The records of other processes show which of their numbers are done,
/// in any order.
///
/// The number of claims is little more than the number of blocks that a process works on, however large the space is:
/// about 64 for each process, or blocks of 64.
class BlockWalk {
 public:
  /// Whether this process must do the work of this name, as Peers::take.
  using Take = std::function<bool(const std::string& name)>;
  /// name: the same for processes with the same sequence, different for others.
  BlockWalk(const search::Sequence& sequence, const Peers& peers, Take take, std::string name);

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

  const Take take_;
  std::string name_;
  std::uint64_t size_, block_size_;
  std::uint64_t own_ = 0, own_end_ = 0;  ///< blocks of our part that were not claimed yet
  std::vector<Range> ours_;              ///< remaining numbers of the blocks that we have
  std::vector<Range> theirs_;            ///< not known to be done, ascending
  base::Random random_;
  bool looked_ = false;  ///< since there was nothing left to take over
};

/// Each process claims a configuration before it measures it; the results of configurations that others have claimed
/// are waited for, and the work is taken over if that process has ended. A search that learns nothing from outcomes is
/// shared in blocks of its sequence (BlockWalk), so that there are few claims. After leave(), or if the store of the
/// peers fails, this process does everything.
class PeerWork {
 public:
  PeerWork(RunParts& run, Peers& peers);

  /// For a search that does not learn: each process takes its own path through the same sequence, which must outlive
  /// this.
  void share_in_blocks(const search::Sequence& sequence);
  bool in_blocks() const noexcept { return blocks_.has_value(); }
  bool blocks_over() const noexcept { return blocks_->over(); }
  /// The next proposal for this process; nullopt: none for now, or none any more.
  std::optional<SearchPath::Proposal> next();

  /// Whether this process must do the trial; else it waits for it.
  bool claim(const TrialPtr& trial, const std::string& name);
  bool waiting() const noexcept { return !elsewhere_.empty(); }
  /// Stops waiting for work of other processes.
  void forget();

  /// The records that other processes have stored since the last call.
  std::vector<store::Record> news();
  void look_at_blocks();
  /// Checks for results of trials that other processes have claimed.
  void look_at_trials();
  /// Calls `look` from time to time, until this object is destroyed.
  void every_look(std::function<void()> look);

  /// As Peers::take, but without errors.
  bool take(const std::string& name);
  /// Stops sharing, with a warning: from now on this process does everything. False: it had already stopped.
  bool leave();

 private:
  struct Elsewhere {
    TrialPtr trial;
    std::string claim;
  };
  void leave_over(const std::string& why);
  RunParts& run_;
  Peers& peers_;
  bool left_ = false;
  std::vector<Elsewhere> elsewhere_;
  const search::Sequence* sequence_ = nullptr;
  std::optional<BlockWalk> blocks_;
  system::EventLoop::Watch next_look_, next_turn_;
};

}  // namespace xtune::run
