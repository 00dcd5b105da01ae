// When a job ends: one of its processes asks Slurm, the others learn it in the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cluster/walltime.hpp"

namespace xtune::cluster {

/// <store>/studies/<study>/ends/<job>-r<restart>: the study may be named by hand and outlive a job. A thousand
/// processes that ask the one controller of a cluster at once keep it from its work.
class JobEnd {
 public:
  /// SLURM_JOB_ID and SLURM_RESTART_COUNT name the job.
  JobEnd(const std::filesystem::path& store, const std::string& study, const ReadVariable& get = environment_variable);
  /// nullopt: it has no limit. A store that cannot be written costs the others a question of their own.
  void tell(const std::optional<Walltime>& walltime, std::int64_t unix_time_ms) const noexcept;
  struct Heard {
    std::optional<Walltime> walltime;  ///< nullopt: the job has no limit
  };
  /// nullopt: nobody has told yet, or what is there is damaged.
  std::optional<Heard> heard(std::int64_t unix_time_ms) const noexcept;
  /// Seconds that a process waits for the word of the first one, which may have ended or never begun, before it asks
  /// itself; the later ones longer, so that one asks first and the rest hear of it.
  static double patience_s(int rank) noexcept { return 15 + 0.05 * rank; }

 private:
  std::filesystem::path file_;
};

}  // namespace xtune::cluster
