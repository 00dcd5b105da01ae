// Combines the processes' own reports.
#include "cluster/study_status.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/files.hpp"
#include "base/json_error.hpp"
#include "base/process_gone.hpp"
#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_log.hpp"

namespace xtune::cluster {
namespace {

namespace fs = std::filesystem;

bool is_gone(const ProcessProgress& process) {
  return !process.pid_scope.empty() && process.pid_scope == base::pid_scope() && base::process_is_gone(process.pid);
}

void add(WorkProgress& to, const WorkProgress& from) {
  to.done = std::max(to.done, from.done);
  to.total = std::max(to.total, from.total);
  // The answer of a search that has ended comes before the best so far of others, a later answer before earlier ones:
  // its process had seen the most, and finals may choose a configuration that was slower in its single measurement.
  const auto rank = [](const WorkProgress& each) {
    return std::tuple(-each.answered_unix_ms, each.best_ms.value_or(HUGE_VAL));
  };
  if (from.best_ms && (!to.best_ms || rank(from) < rank(to))) {
    to.best_ms = from.best_ms;
    to.best = from.best;
    to.answered_unix_ms = from.answered_unix_ms;
  }
  if (to.error.empty()) to.error = from.error;
  // If one process has finished it, it is finished; if one works on it, it is running.
  for (const char* state : {"done", "running", "stopped", "failed"})
    if (to.state == state || from.state == state) {
      to.state = state;
      break;
    }
}

void add_process(StudyStatus& status, ProcessProgress progress, std::int64_t unix_time_ms) {
  ProcessStatus& process = status.processes.emplace_back();
  process.age_s = std::max(0.0, static_cast<double>(unix_time_ms - progress.unix_time_ms) * 1e-3);
  process.alive = progress.state == "running" && process.age_s <= silent_after_s && !is_gone(progress);
  for (WorkProgress work : progress.work) {
    if (work.state == "running" && !process.alive) work.state = "stopped";
    const auto known = std::find_if(status.work.begin(), status.work.end(), [&](const WorkProgress& each) {
      return std::tie(each.arch, each.spec, each.problem) == std::tie(work.arch, work.spec, work.problem);
    });
    if (known == status.work.end())
      status.work.push_back(std::move(work));
    else
      add(*known, work);
  }
  process.progress = std::move(progress);
}

}  // namespace

StudyStatus read_study(const fs::path& store, const std::vector<std::string>& studies, std::int64_t unix_time_ms) {
  StudyStatus status;
  std::vector<ProcessProgress> found;
  for (const std::string& study : studies) {
    std::error_code error;
    for (fs::directory_iterator entry(study_folder(store, study) / "progress", error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() != ".json") continue;
      try {
        found.push_back(process_progress_from_json(nlohmann::json::parse(base::read_file(entry->path(), 16 << 20))));
      } catch (const nlohmann::json::exception& failure) {
        status.warnings.push_back(base::printable(entry->path().string()) + ": " + base::json_error_text(failure));
      } catch (const std::exception& failure) {
        status.warnings.push_back(
            fmt::format("{}: {}", base::printable(entry->path().string()), base::printable(failure.what(), 200)));
      }
    }
  }
  std::sort(found.begin(), found.end(), [](const ProcessProgress& a, const ProcessProgress& b) {
    return std::tie(a.restart, a.rank, a.attempt) < std::tie(b.restart, b.rank, b.attempt);
  });
  for (ProcessProgress& progress : found) add_process(status, std::move(progress), unix_time_ms);
  return status;
}

std::vector<std::string> studies_in(const fs::path& store) {
  std::vector<std::pair<fs::file_time_type, std::string>> dated;
  std::error_code error;
  for (fs::directory_iterator entry(store / "studies", error), end; !error && entry != end; entry.increment(error)) {
    const auto name = record::name_of_component(entry->path().filename().string());
    std::error_code missing;
    // Each rewrite of a file in it changes the directory's time.
    const fs::file_time_type time = fs::last_write_time(entry->path() / "progress", missing);
    if (name && !missing) dated.emplace_back(time, *name);
  }
  std::sort(dated.begin(), dated.end());
  std::vector<std::string> names;
  for (auto& [time, name] : dated) names.push_back(std::move(name));
  return names;
}

}  // namespace xtune::cluster
