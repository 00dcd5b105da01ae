// Components from words of the command line; stored facts about submissions.
#include "cluster/submission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace {

int count_of(const std::string& key, const std::string& text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < least)
    throw Error(ErrorKind::invalid_argument, fmt::format("--arch-component: {}='{}' is not a count of at least {}", key,
                                                         base::printable(text, 40), least));
  return value;
}

/// A value that #SBATCH lines accept without quoting.
std::string plain_value(const std::string& key, const std::string& text) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:=&|*()[]+/@";
  if (text.empty() || text.find_first_not_of(allowed) != std::string::npos)
    throw Error(ErrorKind::invalid_argument, fmt::format("--arch-component: {}='{}': letters, digits and {} only", key,
                                                         base::printable(text, 80), "_-.:=&|*()[]+/@"));
  return text;
}

}  // namespace

JobComponent parse_component(const std::string& text) {
  JobComponent component;
  std::string rest = text;
  // "sm_90a:nodes=2": a colon before the first '='.
  const std::size_t equals = std::min(rest.find('='), rest.size());
  if (const std::size_t colon = rest.find(':'); colon < equals || equals == rest.size()) {
    component.arch = plain_value("arch", rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  const std::vector<std::string> keys{"nodes", "gpus-per-node", "gres", "constraint", "partition"};
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string part = rest.substr(0, comma);
    rest = rest.substr(std::min(comma + 1, rest.size()));
    const std::size_t at = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, at), value = part.substr(std::min(at + 1, part.size()));
    if (key == "nodes")
      component.nodes = count_of(key, value, 1);
    else if (key == "gpus-per-node")
      component.gpus_per_node = count_of(key, value, 0);
    else if (key == "gres")
      component.gres = plain_value(key, value);
    else if (key == "constraint")
      component.constraint = plain_value(key, value);
    else if (key == "partition")
      component.partition = plain_value(key, value);
    else
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--arch-component '{}': unknown key '{}'{}; write "
                              "[ARCH:]nodes=N,gpus-per-node=N,gres=...,constraint=...,partition=...",
                              base::printable(text, 200), base::printable(key, 40), base::did_you_mean(key, keys)));
  }
  return component;
}

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
  system::write_file_atomically(submission.folder / "submission.json", json.dump(2) + "\n");
}

std::vector<Submitted> read_submissions(const fs::path& store) {
  std::vector<std::pair<fs::file_time_type, Submitted>> dated;
  std::error_code error;
  for (fs::directory_iterator entry(store / "submissions", error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path file = entry->path() / "submission.json";
    try {
      const nlohmann::json json = nlohmann::json::parse(system::read_file(file, 1 << 20));
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
