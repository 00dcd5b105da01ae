// How long a job may still run, and when to stop before that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/launcher.hpp"

namespace xtune::cluster {

/// Seconds in "90", "45:00" (minutes), "2:00:00" and "1-12:00:00" (days), as Slurm writes them (squeue(1), %L), but a
/// plain number is in seconds. nullopt for anything else, including "UNLIMITED" and "INVALID".
std::optional<double> parse_duration(std::string_view text);

/// The remaining time, and its source.
struct Walltime {
  double remaining_s = 0;
  std::string source;  ///< "SLURM_JOB_END_TIME"
};

/// Runs a command and returns its output; empty if it cannot be run.
using AskProgram = std::function<std::string(const std::vector<std::string>& argv)>;
std::string ask_program(const std::vector<std::string>& argv);  ///< runs for up to 10 s

/// given: --walltime: a duration from now on, "none", or "auto": XTUNE_WALLTIME, else inside of a Slurm job
/// SLURM_JOB_END_TIME, else the answer of `squeue`. nullopt: no limit is known. Throws Error(invalid_argument) for a
/// text that is not a duration.
std::optional<Walltime> find_walltime(const std::string& given, std::int64_t unix_time_ms,
                                      const ReadVariable& get = environment_variable,
                                      const AskProgram& ask = ask_program);
/// Whether find_walltime would ask `squeue`.
bool only_squeue_knows(const std::string& given, const ReadVariable& get = environment_variable);

/// Decides when to stop, by the cost of configurations so far. Pure.
class StopRule {
 public:
  enum class Step {
    go_on,
    drain,  ///< start nothing new: the running measurement still fits
    stop    ///< the running measurement does not fit: give it up
  };
  explicit StopRule(double remaining_s) noexcept { limit(remaining_s); }
  /// Sets or updates the remaining time.
  void limit(double remaining_s) noexcept;
  void measured(double device_s) noexcept;  ///< one configuration
  /// Reserved for the running measurement, twice the slowest configuration so far, and for writing the results.
  double reserve_s() const noexcept { return margin_s_ + 2 * slowest_s_; }
  Step at(double remaining_s) const noexcept;

 private:
  double margin_s_ = 0, slowest_s_ = 0;
};

/// <store>/studies/<study>/ends/<job>-r<restart>, because a study may be named by the user and outlive a job. A
/// thousand processes that ask a cluster's only controller at once would overload it.
class JobEnd {
 public:
  /// SLURM_JOB_ID and SLURM_RESTART_COUNT identify the job.
  JobEnd(const std::filesystem::path& store, const std::string& study, const ReadVariable& get = environment_variable);
  /// nullopt: it has no limit. If the store cannot be written, each of the others asks Slurm itself.
  void tell(const std::optional<Walltime>& walltime, std::int64_t unix_time_ms) const noexcept;
  struct Heard {
    std::optional<Walltime> walltime;  ///< nullopt: the job has no limit
  };
  /// nullopt: no process has written it yet, or it is damaged.
  std::optional<Heard> heard(std::int64_t unix_time_ms) const noexcept;
  /// Seconds that a process waits for the answer of the first one, which may have ended or never started, before it
  /// asks itself. Later processes wait longer, so that one asks first and the others read its answer.
  static double patience_s(int rank) noexcept { return 15 + 0.05 * rank; }

 private:
  std::filesystem::path file_;
};

}  // namespace xtune::cluster
