// Writes and reads progress.
#include "cluster/progress_file.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/files.hpp"
#include "base/json_fields.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_json.hpp"
#include "core/record/record_log.hpp"

namespace xtune::cluster {
namespace {

constexpr int schema = 1;

namespace fields = base::fields;
using fields::always, fields::optional, fields::required;

constexpr auto bindings_form =
    fields::Through{[](const Bindings& bindings) { return record::to_json(bindings); }, record::bindings_from_json};
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
                           base::Clock& clock)
    : path_(
          study_folder(store, study) / "progress" /
          (record::path_component(process.host + "-" + std::to_string(process.pid) + "-" + process.attempt) + ".json")),
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
  base::write_file_atomically(path_, to_json(process_).dump() + "\n");
} catch (...) {  // such as a full disk: reported where records are written
}

void ProgressFile::end(const std::string& state) noexcept {
  process_.state = state;
  write(true);
}

nlohmann::json to_json(const ProcessProgress& process) { return process_form.to_json(process); }
ProcessProgress process_progress_from_json(const nlohmann::json& json) { return process_form.from_json(json); }

}  // namespace xtune::cluster
