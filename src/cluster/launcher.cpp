// Reads the environment variables of launchers.
#include "cluster/launcher.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {
namespace {

struct LauncherVariables {
  const char *name, *rank, *size, *local_size, *job;
};

// The more specific first: Open MPI's mpirun inside of a Slurm job also sees Slurm's variables of the batch step.
constexpr std::array launchers = {
    LauncherVariables{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                      "PMIX_NAMESPACE"},
    LauncherVariables{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"},
    LauncherVariables{"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "", "FLUX_JOB_ID"},
    LauncherVariables{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "", "SLURM_JOB_ID"},
    LauncherVariables{"PMIx", "PMIX_RANK", "", "", "PMIX_NAMESPACE"},  // has no size
};

int number_of(const ReadVariable& get, const char* name, int least) {
  const std::optional<std::string> text = get(name);
  int value = 0;
  const char* const end = text ? text->data() + text->size() : nullptr;
  if (text) {
    const auto parsed = std::from_chars(text->data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end && value >= least) return value;
  }
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("{} is \"{}\", which is not a valid {}: unset it, or set XTUNE_STUDY=off to run without a study",
                  name, base::printable(text.value_or(""), 40), least > 0 ? "count" : "rank"));
}

int size_of(const ReadVariable& get, const LauncherVariables& launcher, int rank) {
  if (!*launcher.size) return rank < 2 ? 2 : rank < INT_MAX ? rank + 1 : rank;
  if (!get(launcher.size))
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is set, and {} is not set: unset both, or set XTUNE_STUDY=off to run without a study",
                            launcher.rank, launcher.size));
  return number_of(get, launcher.size, 1);
}

/// srun --mpi=pmi2 sets PMI's variables in addition to Slurm's own, which contain more. MPICH's mpirun starts one task
/// of srun on each node, and several processes in it.
bool is_of_srun(const ReadVariable& get, const LauncherVariables& launcher) {
  return std::string_view(launcher.name) == "PMI" && get("SLURM_STEP_ID") && get("SLURM_NTASKS") &&
         get(launcher.rank) == get("SLURM_PROCID") && get(launcher.size) == get("SLURM_NTASKS");
}

/// The number of this node's tasks from "4(x2),3": it is enough to treat all nodes alike, so the maximum is used.
int largest_of(std::string_view counts) {
  int largest = 1;
  for (std::size_t at = 0; at < counts.size();) {
    int value = 0;
    const auto parsed = std::from_chars(counts.data() + at, counts.data() + counts.size(), value);
    if (parsed.ec == std::errc()) largest = std::max(largest, value);
    const std::size_t comma = counts.find(',', at);
    at = comma == std::string_view::npos ? counts.size() : comma + 1;
  }
  return largest;
}

/// A requeued job is another study: claims of its first attempt must not block the second.
std::string attempt_of_slurm(const ReadVariable& get) {
  const auto count = get("SLURM_RESTART_COUNT");
  return count ? "-r" + *count : "";
}

std::string study_of_slurm(const ReadVariable& get, const std::string& job) {
  const auto step = get("SLURM_STEP_ID");
  return "slurm-" + job + (step ? "." + *step : "");
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<Rank> find_rank(const ReadVariable& get) {
  const std::optional<std::string> named = get("XTUNE_STUDY");
  if (named == "off") return std::nullopt;
  for (const LauncherVariables& launcher : launchers) {
    const bool slurm = std::string_view(launcher.name) == "Slurm";
    // The shell of a batch script has a rank and a size too; only steps have several processes.
    if (!get(launcher.rank) || (slurm && !get("SLURM_STEP_ID")) || is_of_srun(get, launcher)) continue;
    Rank rank;
    rank.launcher = launcher.name;
    rank.rank = number_of(get, launcher.rank, 0);
    rank.size = size_of(get, launcher, rank.rank);
    if (rank.rank >= rank.size)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}={} among {}{}{} processes: unset {}, or set XTUNE_STUDY=off to run without a study",
                              launcher.rank, rank.rank, launcher.size, *launcher.size ? "=" : "", rank.size,
                              *launcher.size ? "both" : "it"));
    if (rank.size == 1) return std::nullopt;
    const std::optional<std::string> job = get(launcher.job);
    if (slurm) {
      if (const auto counts = get("SLURM_STEP_TASKS_PER_NODE")) rank.local_size = largest_of(*counts);
    } else if (*launcher.local_size && get(launcher.local_size)) {
      rank.local_size = number_of(get, launcher.local_size, 1);
    }
    if (named)
      rank.study = *named;
    else if (slurm && job)
      rank.study = study_of_slurm(get, *job) + attempt_of_slurm(get);
    else if (job)
      rank.study = launcher.name + ("-" + *job) + attempt_of_slurm(get);
    else if (const auto allocation = get("SLURM_JOB_ID"))
      rank.study = fmt::format("{}-in-slurm-{}{}", launcher.name, *allocation, attempt_of_slurm(get));
    else
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} started {} processes and does not say of which job they are: name it, as in "
                              "XTUNE_STUDY=$(date +%s) (the same for all of them), or XTUNE_STUDY=off",
                              launcher.name, rank.size));
    return rank;
  }
  return std::nullopt;
}

}  // namespace xtune::cluster
