// The end of a run: the best configurations meet in finals, unless such finals are stored or another process holds
// them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/compile_queue.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/peers.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_results.hpp"
#include "core/run/stored_results.hpp"

namespace xtune::run {

class FinalsRounds;

/// Finalists are compiled (from the cache), come back through add, and are measured in rounds on the first device
/// (FinalsRounds). A finalist that turns out to be wrong is refuted, and further finals of the others may follow.
class FinalsPhase {
 public:
  /// The references must outlive it.
  FinalsPhase(const RunContext& run, OutcomeHandler& outcomes, StoredResults& stored, RecordKeeper& keeper,
              DevicePool& devices, CompileQueue& compiles, WorkerTotals& totals);
  ~FinalsPhase();

  /// One process of the job holds the finals for all. peers must outlive this.
  void share_with(Peers& peers) { peers_ = &peers; }

  /// Whether finals were started, or will not be held.
  bool begun() const noexcept { return begun_; }
  /// Chooses the finalists. Returns whether there is something to wait for.
  bool start();
  /// Receives a finalist that was compiled, or did not compile.
  void add(const TrialPtr& trial) { finalists_.push_back(trial); }
  std::size_t compiled() const noexcept { return finalists_.size(); }
  /// Starts the rounds, after all finalists were compiled.
  void hold();

  bool held_elsewhere() const noexcept { return elsewhere_.has_value(); }
  /// Checks whether another process has completed its finals; if it has ended without, this process holds them.
  void look_at_peers();

 private:
  struct SharedFinals {
    std::vector<TrialPtr> finalists;
    std::vector<std::string> keys;
    std::string claim;
  };
  std::vector<const store::Record*> finalists_now();
  const store::Record* default_in_doubt(const std::vector<const store::Record*>& order,
                                        const std::vector<const store::Record*>& finalists) const;
  bool have_met(const std::vector<std::string>& keys) const;
  bool take_stored(const std::vector<std::string>& keys, store::Tainted tainted, std::int64_t since_unix_ms = 0);
  void finish();
  void take(Trial& trial, const std::string& log, std::int64_t now_ms);

  const RunContext& run_;
  OutcomeHandler& outcomes_;
  RunResults& results_;
  StoredResults& stored_;
  RecordKeeper& keeper_;
  DevicePool& devices_;
  CompileQueue& compiles_;
  WorkerTotals& totals_;
  std::vector<TrialPtr> finalists_;  ///< compiled
  std::unique_ptr<FinalsRounds> rounds_;
  bool begun_ = false;
  int held_ = 0;                  ///< number of finals in this run
  std::set<std::string> passed_;  ///< keys of the configurations that passed the last finals of this run
  Peers* peers_ = nullptr;
  std::optional<SharedFinals> elsewhere_;  ///< another process holds them
};

}  // namespace xtune::run
