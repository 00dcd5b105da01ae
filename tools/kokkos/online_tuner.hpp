// Tunes one kernel while the application runs it: what each call is to use, decided by the times of earlier calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/measure/race.hpp"
#include "core/search/strategy.hpp"
#include "core/space/space.hpp"

namespace xtune::kokkos_tools {

/// The default of Kokkos or of the application, or the number of a configuration in the space.
using Choice = std::optional<std::uint64_t>;

/// Measurements of one choice.
struct Finding {
  Choice choice;
  bool beaten = false;  ///< it lost the race: its samples are a lower bound
  bool final = false;   ///< of finals: samples[i] is of round i
  std::vector<double> samples_ms = {};
};

/// What earlier runs, or other processes, found.
struct Known {
  /// Times as multiples of the default's in the same run, since runs may differ in problem size.
  std::vector<search::Observation> observations;
  Choice winner = {};  ///< a configuration that won the newest finals
};

struct TunerSettings {
  std::uint64_t evals = 100;
  double share = 0.1;  ///< of the kernel's time
  std::string strategy = "auto";
  std::uint64_t seed = 1;
  bool explore = true;  ///< false: only a known winner competes with the default
};

/// A kernel's calls go through four phases. Baseline: the default is measured. Search: the strategy proposes, and each
/// proposal is measured until it loses the race against the best so far, or has `samples` samples. Finals: the best and
/// the default are measured alternately in random order. Decided: a configuration is used only if finals proved that it
/// is faster than the default by more than measure::finals_tie; else the default is.
///
/// A known winner meets the default in finals at once, since the problem may have another size than before. Without a
/// known winner, the search begins with the best known configurations.
///
/// Slower tries are skipped while they have cost more than settings.share of the kernel's whole time so far; the time
/// for proposals counts like that of slower tries. Not thread-safe.
class OnlineTuner {
 public:
  static constexpr std::size_t samples = 7, finalists = 3, rounds = 40;

  struct Answer {
    Choice choice;
    bool measured = false;  ///< the time must be given to observe(), or forget() called, before the next answer
  };

  /// now_ms: a monotonic clock.
  OnlineTuner(space::Space space, TunerSettings settings, const Known& known, std::function<double()> now_ms);
  ~OnlineTuner();

  /// may_measure: whether nothing else is tried at the same time. If not, or while an answer is being measured, the
  /// best so far is returned.
  Answer next(bool may_measure);
  /// The time of the call with the answer that is measured. A time that is not finite and positive counts as forget().
  void observe(double time_ms);
  void forget();
  /// Results of other processes since the beginning.
  void learn(const Known& known);
  /// The application ends: what was measured until now are findings, and the best so far stays.
  void stop();

  bool decided() const noexcept { return phase_ == Phase::decided; }
  /// Whether another configuration is going to be proposed: a good moment for learn().
  bool wants_results() const noexcept { return phase_ == Phase::search && !candidate_; }
  Choice best() const noexcept { return best_; }
  /// Median times, 0 where unknown: of the default, and of best().
  double default_ms() const noexcept { return default_ms_; }
  double best_ms() const noexcept { return best_ ? best_ms_ : default_ms_; }
  const space::Space& space() const noexcept;
  /// What was measured since the last call, to be recorded.
  std::vector<Finding> take_findings();

 private:
  enum class Phase { baseline, search, finals, decided };
  struct Search;
  struct Finals;

  void observe_default(double time_ms);
  void observe_candidate(double time_ms);
  void observe_final(double time_ms);
  std::optional<Choice> try_next();
  Choice propose();
  std::vector<std::uint64_t> faster_ones() const;
  void end_candidate(bool beaten);
  void begin_search();
  void begin_finals(std::vector<Choice> members);
  void decide(Choice winner, double time_ms);

  TunerSettings settings_;
  std::function<double()> now_ms_;
  Phase phase_ = Phase::baseline;
  std::unique_ptr<Search> search_;
  std::unique_ptr<Finals> finals_;
  std::optional<Finding> candidate_;
  std::optional<Choice> measuring_;
  Choice best_;
  double default_ms_ = 0, best_ms_ = 0;
  double total_ms_ = 0, lost_ms_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace xtune::kokkos_tools
