// Stored facts about submissions.
#include "cluster/submission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"

namespace xtune::cluster {

namespace fs = std::filesystem;

std::string attempt_study(const std::string& name, int restart) { return fmt::format("{}.r{}", name, restart); }

fs::path submission_folder(const fs::path& store, const std::string& name) { return store / "submissions" / name; }

void write_submission(const Submission& submission, const std::vector<SubmittedStep>& steps) {
  nlohmann::json json{{"xtune_submission", 1},
                      {"name", submission.name},
                      {"specs", nlohmann::json::array()},
                      {"restarts", submission.restarts},
                      {"steps", nlohmann::json::array()}};
  for (const std::string& spec : submission.specs) json["specs"].push_back(base::printable(spec));
  for (const SubmittedStep& step : steps) json["steps"].push_back({{"step", step.step}, {"job", step.job}});
  base::write_file_atomically(submission.folder / "submission.json", json.dump(2) + "\n");
}

std::vector<Submitted> read_submissions(const fs::path& store) {
  std::vector<std::pair<fs::file_time_type, Submitted>> dated;
  std::error_code error;
  for (fs::directory_iterator entry(store / "submissions", error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path file = entry->path() / "submission.json";
    try {
      const nlohmann::json json = nlohmann::json::parse(base::read_file(file, 1 << 20));
      Submitted submitted{json.at("name"), entry->path(), json.at("specs"), {}, json.at("restarts")};
      for (const nlohmann::json& step : json.at("steps")) submitted.steps.push_back({step.at("step"), step.at("job")});
      dated.emplace_back(fs::last_write_time(file), std::move(submitted));
    } catch (const std::exception&) {  // not submitted completely, or damaged: it cannot be listed
    }
  }
  std::sort(dated.begin(), dated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Submitted> list;
  for (auto& [time, submitted] : dated) list.push_back(std::move(submitted));
  return list;
}

}  // namespace xtune::cluster
