// The part of a search that other processes of the same job have claimed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "core/run/block_walk.hpp"
#include "core/run/peers.hpp"
#include "core/run/run_context.hpp"
#include "core/run/search_path.hpp"

namespace xtune::run {

/// Each process claims a configuration before it measures it; the results of configurations that others have claimed
/// are waited for, and the work is taken over if that process has ended. A search that learns nothing from outcomes is
/// shared in blocks of its sequence (block_walk.hpp), so that there are few claims.
class PeerWork {
 public:
  struct Listeners {
    std::function<bool(const SearchPath::Proposal& proposal)> serve;  ///< whether the store has its result by now,
                                                                      ///< which is then counted
    std::function<bool(const Trial& trial)> has_come;                 ///< the same for a trial
    std::function<void(const TrialPtr& trial)> take_over;             ///< this process must do it after all
  };
  /// peers and loop must outlive it.
  PeerWork(const RunContext& run, Peers& peers, base::EventLoop& loop, WorkerTotals& totals, Listeners listeners);

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
  std::vector<record::Record> news() { return peers_.news(); }
  void look_at_blocks();
  /// Checks for results of trials that other processes have claimed.
  void look_at_trials();
  /// Calls `look` from time to time, until this object is destroyed.
  void every_look(std::function<void()> look);

  Peers& peers() noexcept { return peers_; }
  /// Stops sharing, with a warning: from now on this process does everything. False: it had already stopped.
  bool leave();

 private:
  struct Elsewhere {
    TrialPtr trial;
    std::string claim;
  };
  const RunContext& run_;
  LeavablePeers peers_;
  base::EventLoop& loop_;
  WorkerTotals& totals_;
  const Listeners listeners_;
  std::vector<Elsewhere> elsewhere_;
  const search::Sequence* sequence_ = nullptr;
  std::optional<BlockWalk> blocks_;
  base::EventLoop::Watch next_look_, next_turn_;
};

}  // namespace xtune::run
