// The end of a run: the best configurations meet in finals, unless such finals are stored or another process holds
// them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/run_results.hpp"
#include "core/run/stored_results.hpp"

namespace xtune::run {

struct RunParts;

class FinalsRounds;

/// Finalists are compiled (from the cache), come back through add, and are measured in rounds on the first device
/// (FinalsRounds). One process of a job holds the finals for all. A finalist that turns out to be wrong is refuted, and
/// further finals of the others may follow.
class FinalsPhase {
 public:
  explicit FinalsPhase(RunParts& run);
  ~FinalsPhase();

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
  const store::Record* default_beside(const std::vector<const store::Record*>& order,
                                      const std::vector<const store::Record*>& finalists) const;
  bool have_met(const std::vector<std::string>& keys) const;
  bool take_stored(const std::vector<std::string>& keys, store::Tainted tainted, std::int64_t since_unix_ms = 0);
  void finish();
  void take(Trial& trial, const std::string& log, std::int64_t now_ms);

  RunParts& run_;
  RunResults& results_;
  std::vector<TrialPtr> finalists_;  ///< compiled
  std::unique_ptr<FinalsRounds> rounds_;
  bool begun_ = false;
  int held_ = 0;                           ///< number of finals in this run
  std::set<std::string> passed_;           ///< keys of the configurations that passed the last finals of this run
  std::optional<SharedFinals> elsewhere_;  ///< another process holds them
};

}  // namespace xtune::run
