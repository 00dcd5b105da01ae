// What became of a job so far, read from the files that its processes leave in the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/progress_file.hpp"

namespace xtune::cluster {

struct ProcessStatus {
  ProcessProgress progress;
  double age_s = 0;    ///< of its last sign of life
  bool alive = false;  ///< running, by its own word, and not silent for too long or gone from this machine
};

struct StudyStatus {
  std::vector<ProcessStatus> processes;  ///< by restart, then rank
  /// Of each architecture, spec and problem what its processes know together, in the order of the specs' first turn.
  /// state: done, running, stopped (nobody is at it), failed.
  std::vector<WorkProgress> work;
  std::vector<std::string> warnings;
};

constexpr double silent_after_s = 30;

/// Of the studies `<store>/studies/<study>` with these names; those that are not there have no processes. Throws
/// nothing for damaged files: they are warnings.
StudyStatus read_study(const std::filesystem::path& store, const std::vector<std::string>& studies,
                       std::int64_t unix_time_ms);
/// The names of the studies in a store that have progress to show, the one with the latest sign of life last.
std::vector<std::string> studies_in(const std::filesystem::path& store);

}  // namespace xtune::cluster
