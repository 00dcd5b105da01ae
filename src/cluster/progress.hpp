// What the processes of a study report about themselves, and the study's status made of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/space/value.hpp"
#include "system/clock.hpp"

namespace xtune::cluster {

/// One problem of one kernel, from the view of this process.
struct WorkProgress {
  std::string spec, kernel, arch, device;
  Bindings problem;
  std::string state = "running";  ///< running | done | stopped | failed
  std::string error;
  std::uint64_t done = 0, total = 0;  ///< configurations
  std::optional<double> best_ms;
  Bindings best;
  /// When its search, including finals, ended with this best; 0: best so far, from single measurements.
  std::int64_t answered_unix_ms = 0;
};

/// A process of a job.
struct ProcessProgress {
  std::string host, attempt, job;  ///< job: of the batch system, if there is one
  std::string pid_scope;           ///< the scope of its pid (system/processes.hpp); empty: unknown
  int pid = 0, rank = 0, size = 1, restart = 0;
  std::string state = "running";  ///< running | done | interrupted | failed
  std::int64_t unix_time_ms = 0;  ///< when the file was written
  std::vector<WorkProgress> work;
};

/// Writes <store>/studies/<study>/progress/<host>-<pid>-<attempt>.json, by rename. Errors are ignored: only the file is
/// lost.
class ProgressFile {
 public:
  static constexpr std::int64_t every_ms = 5000;
  ProgressFile(const std::filesystem::path& store, const std::string& study, ProcessProgress process,
               system::Clock& clock);
  /// The entry of this spec and problem, created if necessary.
  WorkProgress& work(const std::string& spec, const Bindings& problem);
  /// Call it often: writes at most once in five seconds, and at once with `now`.
  void write(bool now = false) noexcept;
  /// state: done, interrupted or failed.
  void end(const std::string& state) noexcept;

 private:
  std::filesystem::path path_;
  ProcessProgress process_;
  system::Clock& clock_;
  std::int64_t written_ms_ = 0;
};

nlohmann::json to_json(const ProcessProgress& process);
/// Throws nlohmann::json::exception for other JSON.
ProcessProgress process_progress_from_json(const nlohmann::json& json);

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
