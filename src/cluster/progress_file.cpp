// Writes and reads progress.
#include "cluster/progress_file.hpp"

#include <algorithm>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_json.hpp"
#include "core/record/record_log.hpp"

namespace xtune::cluster {
namespace {

constexpr int schema = 1;

nlohmann::json work_json(const WorkProgress& work) {
  nlohmann::json json{{"spec", base::printable(work.spec)},
                      {"kernel", base::printable(work.kernel)},
                      {"arch", base::printable(work.arch)},
                      {"device", base::printable(work.device)},
                      {"problem", record::to_json(work.problem)},
                      {"state", work.state},
                      {"done", work.done},
                      {"total", work.total}};
  if (!work.error.empty()) json["error"] = base::printable(work.error);
  if (work.best_ms)
    json["best"] = {{"config", record::to_json(work.best)},
                    {"time_ms", *work.best_ms},
                    {"answered_unix_ms", work.answered_unix_ms}};
  return json;
}

WorkProgress work_from_json(const nlohmann::json& json) {
  WorkProgress work;
  json.at("spec").get_to(work.spec);
  json.at("kernel").get_to(work.kernel);
  json.at("arch").get_to(work.arch);
  json.at("device").get_to(work.device);
  work.problem = record::bindings_from_json(json.at("problem"));
  json.at("state").get_to(work.state);
  json.at("done").get_to(work.done);
  json.at("total").get_to(work.total);
  work.error = json.value("error", "");
  if (const auto best = json.find("best"); best != json.end()) {
    work.best_ms = best->at("time_ms").get<double>();
    work.best = record::bindings_from_json(best->at("config"));
    work.answered_unix_ms = best->value("answered_unix_ms", std::int64_t{0});
  }
  return work;
}

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
} catch (...) {  // a full disk, say: it is told where records are written
}

void ProgressFile::end(const std::string& state) noexcept {
  process_.state = state;
  write(true);
}

nlohmann::json to_json(const ProcessProgress& process) {
  nlohmann::json json{{"xtune_progress", schema},
                      {"host", base::printable(process.host)},
                      {"pid", process.pid},
                      {"attempt", process.attempt},
                      {"rank", process.rank},
                      {"size", process.size},
                      {"restart", process.restart},
                      {"state", process.state},
                      {"unix_time_ms", process.unix_time_ms},
                      {"work", nlohmann::json::array()}};
  if (!process.pid_scope.empty()) json["pid_scope"] = process.pid_scope;
  if (!process.job.empty()) json["job"] = base::printable(process.job);
  for (const WorkProgress& work : process.work) json["work"].push_back(work_json(work));
  return json;
}

ProcessProgress process_progress_from_json(const nlohmann::json& json) {
  ProcessProgress process;
  json.at("host").get_to(process.host);
  json.at("pid").get_to(process.pid);
  json.at("attempt").get_to(process.attempt);
  json.at("rank").get_to(process.rank);
  json.at("size").get_to(process.size);
  process.restart = json.value("restart", 0);
  json.at("state").get_to(process.state);
  json.at("unix_time_ms").get_to(process.unix_time_ms);
  process.job = json.value("job", "");
  process.pid_scope = json.value("pid_scope", "");
  for (const nlohmann::json& work : json.at("work")) process.work.push_back(work_from_json(work));
  return process;
}

}  // namespace xtune::cluster
