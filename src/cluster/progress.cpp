// A file for each process, replaced by renames; the reader combines them.
#include "cluster/progress.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "core/space/bindings_form.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"

namespace xtune::cluster {

namespace {

constexpr int schema = 1;

namespace fields = base::fields;
using fields::always, fields::optional, fields::required, space::bindings_form;

constexpr fields::Through best_time_form{[](const std::optional<double>& time_ms) { return *time_ms; },
                                         [](const nlohmann::json& json) { return json.get<double>(); }};
constexpr auto has_best = [](const WorkProgress& work) { return work.best_ms.has_value(); };

constexpr auto best_form = fields::object<WorkProgress>(required("time_ms", &WorkProgress::best_ms, best_time_form),
                                                        required("config", &WorkProgress::best, bindings_form),
                                                        always("answered_unix_ms", &WorkProgress::answered_unix_ms));

constexpr auto work_form = fields::object<WorkProgress>(
    required("spec", &WorkProgress::spec, fields::text), required("kernel", &WorkProgress::kernel, fields::text),
    required("arch", &WorkProgress::arch, fields::text), required("device", &WorkProgress::device, fields::text),
    required("problem", &WorkProgress::problem, bindings_form), required("state", &WorkProgress::state),
    required("done", &WorkProgress::done), required("total", &WorkProgress::total),
    optional("error", &WorkProgress::error, fields::text),
    fields::When(has_best, fields::always("best", std::identity(), best_form)));

constexpr auto process_form = fields::object<ProcessProgress>(
    fields::Constant{"xtune_progress", schema}, required("host", &ProcessProgress::host, fields::text),
    required("pid", &ProcessProgress::pid), required("attempt", &ProcessProgress::attempt),
    required("rank", &ProcessProgress::rank), required("size", &ProcessProgress::size),
    always("restart", &ProcessProgress::restart), required("state", &ProcessProgress::state),
    required("unix_time_ms", &ProcessProgress::unix_time_ms), optional("job", &ProcessProgress::job, fields::text),
    optional("pid_scope", &ProcessProgress::pid_scope),
    required("work", &ProcessProgress::work, fields::List{work_form}));

}  // namespace

ProgressFile::ProgressFile(const std::filesystem::path& store, const std::string& study, ProcessProgress process,
                           system::Clock& clock)
    : path_(
          study_folder(store, study) / "progress" /
          (store::path_component(process.host + "-" + std::to_string(process.pid) + "-" + process.attempt) + ".json")),
      process_(std::move(process)),
      clock_(clock) {
  write(true);
}

WorkProgress& ProgressFile::work(const std::string& spec, const Bindings& problem) {
  const auto found = std::find_if(process_.work.begin(), process_.work.end(), [&](const WorkProgress& each) {
    return each.spec == spec && each.problem == problem;
  });
  if (found != process_.work.end()) return *found;
  WorkProgress& added = process_.work.emplace_back();
  added.spec = spec;
  added.problem = problem;
  return added;
}

void ProgressFile::write(bool now) noexcept try {
  const std::int64_t time_ms = clock_.unix_time_ms();
  if (!now && time_ms - written_ms_ < every_ms) return;
  written_ms_ = process_.unix_time_ms = time_ms;
  system::write_file_atomically(path_, to_json(process_).dump() + "\n");
} catch (...) {  // such as a full disk: reported where records are written
}

void ProgressFile::end(const std::string& state) noexcept {
  process_.state = state;
  write(true);
}

nlohmann::json to_json(const ProcessProgress& process) { return process_form.to_json(process); }
ProcessProgress process_progress_from_json(const nlohmann::json& json) { return process_form.from_json(json); }

namespace {

namespace fs = std::filesystem;

bool is_gone(const ProcessProgress& process) {
  return !process.pid_scope.empty() && process.pid_scope == system::pid_scope() && system::process_is_gone(process.pid);
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
        found.push_back(process_progress_from_json(nlohmann::json::parse(system::read_file(entry->path(), 16 << 20))));
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
    const auto name = store::name_of_component(entry->path().filename().string());
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
