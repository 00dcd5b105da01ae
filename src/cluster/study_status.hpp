// The state of a job, from the files that its processes write to the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/progress_file.hpp"

namespace xtune::cluster {

struct ProcessStatus {
  ProcessProgress progress;
  double age_s = 0;    ///< since it last wrote its file
  bool alive = false;  ///< its state is running, its file is recent, and it still exists if it is on this machine
};

struct StudyStatus {
  std::vector<ProcessStatus> processes;  ///< by restart, then rank
  /// For each architecture, spec and problem, the combined state of its processes, in the order in which the specs
  /// started. state: done, running, stopped (no process works on it), failed.
  std::vector<WorkProgress> work;
  std::vector<std::string> warnings;
};

constexpr double silent_after_s = 30;

/// The status of the studies `<store>/studies/<study>` with these names; missing ones have no processes. Damaged files
/// are warnings, not exceptions.
StudyStatus read_study(const std::filesystem::path& store, const std::vector<std::string>& studies,
                       std::int64_t unix_time_ms);
/// The names of the studies in a store that have progress files, ordered by their last change.
std::vector<std::string> studies_in(const std::filesystem::path& store);

}  // namespace xtune::cluster
