// How long a job may still run, and when to stop before that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cluster/batch_system.hpp"

namespace xtune::cluster {

/// The remaining time, and its source.
struct Walltime {
  double remaining_s = 0;
  std::string source;  ///< "--walltime", or the variable or program that said it
};

/// given: --walltime: a duration from now on, "none", or "auto": XTUNE_WALLTIME, else inside of a batch
/// job what its system's variable or command says. nullopt: no limit is known. Throws Error(invalid_argument) for a
/// text that is not a duration.
std::optional<Walltime> find_walltime(const std::string& given, std::int64_t unix_time_ms,
                                      const ReadVariable& get = environment_variable,
                                      const AskProgram& ask = ask_program);
/// Whether find_walltime would run a command.
bool only_a_command_knows(const std::string& given, const ReadVariable& get = environment_variable);

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
  JobEnd(const std::filesystem::path& store, const std::string& study, const ReadVariable& get = environment_variable);
  /// nullopt: it has no limit. If the store cannot be written, each of the others asks itself.
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
