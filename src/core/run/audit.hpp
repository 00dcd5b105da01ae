// Tuning repeatedly: how often the answer changes, and what each answer costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/finals.hpp"
#include "core/run/tuner.hpp"

namespace xtune::run {

/// One tuning of one problem from an empty store.
struct AuditedRepeat {
  std::uint64_t seed = 0;
  std::optional<Bindings> winner;  ///< unset: no configuration passed
  std::vector<Bindings> ties;      ///< configurations that the tuning declared to be as good as its winner
  double time_ms = 0;              ///< of the winner, by the spec's statistic
  std::uint64_t evaluated = 0;
  double total_s = 0;
};
AuditedRepeat repeat_of(const spec::Spec& spec, const TuneResult& result);

/// One of the configurations that were measured side by side after all repeats.
struct ComparedConfig {
  Bindings config;
  std::optional<measure::PairedRatio> ratio;  ///< to the fastest of them; unset: it failed
  std::string failure;                        ///< why it has no ratio
  /// How much slower than the fastest: 0.02 for 2 %. Infinite for one that failed.
  double regret() const;
};

/// Another case of the spec, whose winner would be used for this case if this one had not been measured.
struct AuditedNeighbour {
  Bindings problem, winner;
  double distance = 0;  ///< store::shape_distance
  bool in_bucket = false;
  bool in_reach = true;  ///< of [dispatch] radius: else the default would answer
};

/// All tunings of one problem, and their comparison.
struct AuditedCase {
  Bindings problem;
  device::DeviceInfo device;
  std::vector<AuditedRepeat> repeats;
  std::optional<Bindings> default_config;
  std::vector<AuditedNeighbour> neighbours;  ///< as a call would choose them, the nearest first
  /// What a call runs instead of the first neighbour's winner, because a model of the hardware expects much more of it
  /// (first_answer); unset: the winner.
  std::optional<Bindings> preferred;
  std::vector<ComparedConfig> compared;  ///< empty: not compared, because the audit was stopped

  /// The first of the repeats that name the winner which most of them name; null: none has a winner.
  const AuditedRepeat* reference() const;
  /// Whether a repeat's winner is another one than the reference's, and neither of the two declared the other's as a
  /// tie. A repeat without a winner flips.
  bool flips(const AuditedRepeat& repeat) const;
  std::size_t flips() const;
  /// The share of the pairs of repeats that name exactly the same winner; ties do not count. 1 for a single repeat.
  double agreement() const;
  /// The distinct winners, the most frequent first, each with the number of repeats that name it.
  std::vector<std::pair<Bindings, std::size_t>> winners() const;
  const ComparedConfig* find(const Bindings& config) const;  ///< null: it was not compared
};

/// Sets the neighbours of each case: those of the same bucket first, then by distance, at most eight; and whether a
/// model of the hardware answers instead of the first one.
void find_neighbours(const spec::Spec& spec, std::vector<AuditedCase>& cases);
/// The configurations to measure side by side for a case: winners, default, the model's, the neighbours' winners and
/// the reference's ties, at most 40.
std::vector<Bindings> configs_to_compare(const AuditedCase& one);

/// The tunings of one spec. Its store is a directory of its own: it begins empty in each repeat, but keeps compiled
/// kernels, since their compilation is not audited. With [search] seconds each repeat compiles them again,
/// because the time for a search includes compiling.
class Audit {
 public:
  struct Settings {
    std::filesystem::path folder;  ///< private to the audit, removed by the caller
    bool same_seed = false;        ///< all repeats search in the same way, on the same inputs
  };
  Audit(spec::Spec spec, Settings settings);

  const spec::Spec& spec() const noexcept { return spec_; }
  std::vector<AuditedCase>& cases() noexcept { return cases_; }

  /// Tunes a case in a repeat; both count from 0. Results of other cases that were tuned before in this repeat guide
  /// the search, as in `xtune run`. Returns false if it was stopped: nothing is kept of it. Throws Error as tune()
  /// does.
  bool tune(std::size_t number, std::uint64_t repeat, const run::Target& target, const TuneServices& services,
            TuneObserver& observer);
  /// Call it after the last case of each repeat: the next one begins with an empty store.
  void end_repeat();
  /// Measures the configurations of a case side by side. Returns false if it was stopped.
  bool compare(std::size_t number, const run::Target& target, const TuneServices& services, TuneObserver& observer);

 private:
  std::filesystem::path store() const { return settings_.folder / "store"; }
  TuneOptions options(const std::filesystem::path& scratch) const;
  spec::Spec spec_;
  Settings settings_;
  std::vector<AuditedCase> cases_;
};

/// What an audit of a spec found.
struct AuditFindings {
  std::size_t repeats = 0, flips = 0;  ///< of all cases
  std::size_t without_winner = 0;      ///< repeats
  double agreement = 1;                ///< mean over the cases
  /// The largest of one kind, over all cases; unset: there is none.
  struct Worst {
    double regret = 0;
    bool proven = false;  ///< it failed, or its interval excludes 0
    const AuditedCase* at = nullptr;
    const AuditedNeighbour* neighbour = nullptr;
  };
  std::optional<Worst> winner, tie, neighbour, default_config;
  double flip_share() const { return repeats ? static_cast<double>(flips) / static_cast<double>(repeats) : 0; }
};
/// Refers to the cases.
AuditFindings findings_of(const std::vector<AuditedCase>& cases);

}  // namespace xtune::run
