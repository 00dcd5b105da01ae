// The part of a search that other processes of the same job have in hand.
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

/// Each process claims a configuration before it measures it; what another has claimed is waited for, and taken over
/// where that process is gone. A search that learns nothing from outcomes is shared in blocks of its sequence
/// (block_walk.hpp), so that there are few claims.
class PeerWork {
 public:
  struct Listeners {
    std::function<bool(const SearchPath::Proposal& proposal)> serve;  ///< whether the store has it by now; it counts
    std::function<bool(const Trial& trial)> has_come;                 ///< likewise, of a trial
    std::function<void(const TrialPtr& trial)> take_over;             ///< it is this process's to do after all
  };
  /// peers and loop outlive it.
  PeerWork(const RunContext& run, Peers& peers, base::EventLoop& loop, WorkerTotals& totals, Listeners listeners);

  /// Nothing is to be learned from the order: each process goes its own way through the same sequence, which outlives
  /// this.
  void share_in_blocks(const search::Sequence& sequence);
  bool in_blocks() const noexcept { return blocks_.has_value(); }
  bool blocks_over() const noexcept { return blocks_->over(); }
  /// The next proposal that is this process's to see to; nullopt: none for now, or none any more.
  std::optional<SearchPath::Proposal> next();

  /// Whether the trial is this process's to do; else it is waited for.
  bool claim(const TrialPtr& trial, const std::string& name);
  bool waiting() const noexcept { return !elsewhere_.empty(); }
  /// Whatever others have in hand is not waited for any more.
  void forget();

  /// What the others have stored since the last call.
  std::vector<record::Record> news() { return peers_.news(); }
  void look_at_blocks();
  /// Sees what has come of the trials that others have in hand.
  void look_at_trials();
  /// Calls look now and then, until this is gone.
  void every_look(std::function<void()> look);

  Peers& peers() noexcept { return peers_; }
  /// With a warning: from now on everything is this process's to do. False: it had left before.
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
