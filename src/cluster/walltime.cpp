// Reads limits of jobs; processes of a job tell each other in a line of text that appears atomically.
#include "cluster/walltime.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace {

// A twentieth of the job is reserved for its end: stopping workers, flushing records, and waiting for other processes.
constexpr double margin_share = 0.05, min_margin_s = 2, max_margin_s = 60;

/// The variable with the end of a job, in Unix seconds; 0 means unknown.
std::optional<double> told_end(const BatchSystem& system, const ReadVariable& get) {
  if (system.time_left.variable.empty()) return std::nullopt;
  const std::string text = get(system.time_left.variable.c_str()).value_or("");
  std::int64_t unix_s = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unix_s);
  if (error != std::errc() || end != text.data() + text.size() || unix_s <= 0) return std::nullopt;
  return static_cast<double>(unix_s);
}

/// What the system's command says is left: the minimum, since a heterogeneous job has a line for each component, and
/// ends with the first.
std::optional<double> asked_left(const CurrentJob& job, double unix_s, const AskProgram& ask) {
  const BatchSystem::TimeLeft& keys = job.system->time_left;
  if (keys.command.empty()) return std::nullopt;
  const std::string answer = ask(fill_words(keys.command, {{"job", job.id}}));
  std::string text, start;
  std::optional<double> least;
  const RE2 left(keys.left, RE2::Quiet);
  for (re2::StringPiece rest(answer); !keys.left.empty() && RE2::FindAndConsume(&rest, left, &text);) {
    // The unit of a plain number is that of the user's options, not of answers.
    BatchSystem::Options options;
    options.two_parts_are_hours = job.system->options.two_parts_are_hours;
    if (const auto seconds = parse_duration(text, &options)) least = std::min(least.value_or(*seconds), *seconds);
  }
  std::tm started{};
  started.tm_isdst = -1;
  if (!keys.limit.empty() && RE2::PartialMatch(answer, RE2(keys.limit, RE2::Quiet), &text) &&
      RE2::PartialMatch(answer, RE2(keys.start, RE2::Quiet), &start) &&
      ::strptime(start.c_str(), keys.started.c_str(), &started) != nullptr)
    if (const auto seconds = parse_duration(text))
      least = static_cast<double>(std::mktime(&started)) + *seconds - unix_s;
  return least;
}

}  // namespace

bool only_a_command_knows(const std::string& given, const ReadVariable& get) {
  if (given != "auto" || get("XTUNE_WALLTIME")) return false;
  const auto job = current_job(get);
  return job && !job->system->time_left.command.empty() && !told_end(*job->system, get);
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
  const auto job = current_job(get);
  if (!job) return std::nullopt;
  const double unix_s = static_cast<double>(unix_time_ms) * 1e-3;
  if (const auto end_s = told_end(*job->system, get)) return Walltime{*end_s - unix_s, job->system->time_left.variable};
  if (const auto left = asked_left(*job, unix_s, ask)) return Walltime{*left, job->system->time_left.command.front()};
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

JobEnd::JobEnd(const std::filesystem::path& store, const std::string& study, const ReadVariable& get) {
  const CurrentJob job = current_job(get).value_or(CurrentJob());
  file_ = study_folder(store, study) / "ends" /
          store::path_component(job.id + "-r" + (job.restart.empty() ? "0" : job.restart));
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
  return Heard{Walltime{static_cast<double>(end_ms - unix_time_ms) * 1e-3, ""}};
} catch (...) {
  return std::nullopt;
}

}  // namespace xtune::cluster
