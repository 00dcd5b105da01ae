// A line of text that appears atomically.
#include "cluster/job_end.hpp"

#include <fmt/core.h>

#include <charconv>

#include "base/files.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_log.hpp"

namespace xtune::cluster {
namespace {

constexpr const char* no_limit = "none\n";

}  // namespace

JobEnd::JobEnd(const std::filesystem::path& store, const std::string& study, const ReadVariable& get)
    : file_(
          study_folder(store, study) / "ends" /
          record::path_component(get("SLURM_JOB_ID").value_or("") + "-r" + get("SLURM_RESTART_COUNT").value_or("0"))) {}

void JobEnd::tell(const std::optional<Walltime>& walltime, std::int64_t unix_time_ms) const noexcept try {
  base::write_file_atomically(
      file_,
      walltime ? fmt::format("{}\n", unix_time_ms + static_cast<std::int64_t>(walltime->remaining_s * 1e3)) : no_limit);
} catch (...) {  // reported where records are written
}

std::optional<JobEnd::Heard> JobEnd::heard(std::int64_t unix_time_ms) const noexcept try {
  const std::string text = base::read_if_there(file_);
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
