// When a job ends: one of its processes asks Slurm, the others read the answer from the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cluster/walltime.hpp"

namespace xtune::cluster {

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
