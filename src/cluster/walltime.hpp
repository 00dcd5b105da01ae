// How long a job may still run, and when to stop so that nothing measured is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/launcher.hpp"

namespace xtune::cluster {

/// Seconds of "90", "45:00" (minutes), "2:00:00" and "1-12:00:00" (days), as Slurm writes them (squeue(1), %L), but
/// with a plain number in seconds. nullopt for anything else, "UNLIMITED" and "INVALID" too.
std::optional<double> parse_duration(std::string_view text);

/// What may still be spent, and who says so.
struct Walltime {
  double remaining_s = 0;
  std::string source;  ///< "SLURM_JOB_END_TIME"
};

/// Runs a command and returns what it printed; empty where it cannot be run.
using AskProgram = std::function<std::string(const std::vector<std::string>& argv)>;
std::string ask_program(const std::vector<std::string>& argv);  ///< for 10 s at most

/// given: --walltime: a duration from now on, "none", or "auto": XTUNE_WALLTIME, else inside of a Slurm job
/// SLURM_JOB_END_TIME, else what `squeue` says. nullopt: no limit is known. Throws Error(invalid_argument) for a text
/// that is no duration.
std::optional<Walltime> find_walltime(const std::string& given, std::int64_t unix_time_ms,
                                      const ReadVariable& get = environment_variable,
                                      const AskProgram& ask = ask_program);
/// Whether find_walltime would ask `squeue`.
bool only_squeue_knows(const std::string& given, const ReadVariable& get = environment_variable);

/// When to stop, by what configurations have cost so far. Pure.
class StopRule {
 public:
  enum class Step {
    go_on,
    drain,  ///< begin nothing new: what is on the device still fits
    stop    ///< it does not end in time: give it up
  };
  explicit StopRule(double remaining_s) noexcept { limit(remaining_s); }
  /// What is left is known, or known better.
  void limit(double remaining_s) noexcept;
  void measured(double device_s) noexcept;  ///< one configuration
  /// Kept for what is on the device, twice the slowest configuration so far, and for writing it all down.
  double reserve_s() const noexcept { return margin_s_ + 2 * slowest_s_; }
  Step at(double remaining_s) const noexcept;

 private:
  double margin_s_ = 0, slowest_s_ = 0;
};

}  // namespace xtune::cluster
