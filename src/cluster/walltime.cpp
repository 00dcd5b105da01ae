// Reads limits of jobs; processes of a job tell each other in a line of text that appears atomically.
#include "cluster/walltime.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace {

// A twentieth of the job is reserved for its end: stopping workers, flushing records, and waiting for other processes.
constexpr double margin_share = 0.05, min_margin_s = 2, max_margin_s = 60;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// SLURM_JOB_END_TIME, in Unix seconds; 0 means unknown.
std::optional<std::int64_t> told_end(const ReadVariable& get) {
  const auto unix_s = whole_number(get("SLURM_JOB_END_TIME").value_or(""));
  return unix_s == 0 ? std::nullopt : unix_s;
}

/// The minimum of the durations, one per line: a heterogeneous job has one for each component, and ends with the first.
std::optional<double> shortest_duration(const std::string& lines) {
  std::optional<double> least;
  std::istringstream words(lines);
  for (std::string word; words >> word;)
    if (const auto seconds = parse_duration(word)) least = std::min(least.value_or(*seconds), *seconds);
  return least;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  double seconds = 0;
  bool has_days = false;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = whole_number(text.substr(0, dash));
    if (!days) return std::nullopt;
    has_days = true;
    seconds = 86400.0 * static_cast<double>(*days);
    text.remove_prefix(dash + 1);
  }
  std::vector<double> parts;
  for (bool more = true; more;) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto value = whole_number(text.substr(0, colon));
    if (!value) return std::nullopt;
    parts.push_back(static_cast<double>(*value));
    more = colon < text.size();
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  if (parts.size() > 3) return std::nullopt;
  // After days come hours; otherwise the last part is seconds.
  if (has_days) parts.resize(3);
  double rest = 0;
  for (const double part : parts) rest = 60 * rest + part;
  return seconds + rest;
}

std::string ask_program(const std::vector<std::string>& argv) {
  system::CommandOptions options;
  options.timeout_ms = 10'000;
  try {
    const system::CommandResult result = system::run_command(argv, options);
    return result.ok() ? result.stdout_text : std::string();
  } catch (const Error&) {  // not installed
    return {};
  }
}

bool only_squeue_knows(const std::string& given, const ReadVariable& get) {
  return given == "auto" && !get("XTUNE_WALLTIME") && whole_number(get("SLURM_JOB_ID").value_or("")) && !told_end(get);
}

std::optional<Walltime> find_walltime(const std::string& given, std::int64_t unix_time_ms, const ReadVariable& get,
                                      const AskProgram& ask) {
  if (given == "none") return std::nullopt;
  const auto variable = get("XTUNE_WALLTIME");
  if (given != "auto" || variable) {
    const std::string text = given != "auto" ? given : *variable;
    const char* const source = given != "auto" ? "--walltime" : "XTUNE_WALLTIME";
    if (given == "auto" && text == "none") return std::nullopt;
    const auto seconds = parse_duration(text);
    if (!seconds || *seconds <= 0)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} '{}': write seconds (3600), 1:00:00, 1-12:00:00, or none", source,
                              base::printable(text, 80)));
    return Walltime{*seconds, source};
  }
  const auto job = get("SLURM_JOB_ID");
  if (!job || !whole_number(*job)) return std::nullopt;
  if (const auto unix_s = told_end(get))
    return Walltime{static_cast<double>(*unix_s) - static_cast<double>(unix_time_ms) * 1e-3, "SLURM_JOB_END_TIME"};
  if (const auto left = shortest_duration(ask({"squeue", "-h", "-j", *job, "-o", "%L"})))
    return Walltime{*left, "squeue"};
  return std::nullopt;
}

void StopRule::limit(double remaining_s) noexcept {
  margin_s_ = std::clamp(margin_share * remaining_s, min_margin_s, max_margin_s);
}

void StopRule::measured(double device_s) noexcept { slowest_s_ = std::max(slowest_s_, device_s); }

StopRule::Step StopRule::at(double remaining_s) const noexcept {
  if (remaining_s <= margin_s_ / 2) return Step::stop;
  return remaining_s <= reserve_s() ? Step::drain : Step::go_on;
}

namespace {

constexpr const char* no_limit = "none\n";

}  // namespace

JobEnd::JobEnd(const std::filesystem::path& store, const std::string& study, const ReadVariable& get)
    : file_(study_folder(store, study) / "ends" /
            store::path_component(get("SLURM_JOB_ID").value_or("") + "-r" + get("SLURM_RESTART_COUNT").value_or("0"))) {
}

void JobEnd::tell(const std::optional<Walltime>& walltime, std::int64_t unix_time_ms) const noexcept try {
  system::write_file_atomically(
      file_,
      walltime ? fmt::format("{}\n", unix_time_ms + static_cast<std::int64_t>(walltime->remaining_s * 1e3)) : no_limit);
} catch (...) {  // reported where records are written
}

std::optional<JobEnd::Heard> JobEnd::heard(std::int64_t unix_time_ms) const noexcept try {
  const std::string text = system::read_if_there(file_);
  if (text == no_limit) return Heard{};
  std::int64_t end_ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), end_ms);
  // A line without its end may contain half of a number.
  if (error != std::errc() || end == text.data() + text.size() || *end != '\n') return std::nullopt;
  return Heard{Walltime{static_cast<double>(end_ms - unix_time_ms) * 1e-3, "squeue"}};
} catch (...) {
  return std::nullopt;
}

}  // namespace xtune::cluster
