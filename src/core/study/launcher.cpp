// Reads what launchers leave in the environment.
#include "core/study/launcher.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

struct Launcher {
  const char *name, *rank, *size, *local_size, *job;
};

// The more particular first: Open MPI's mpirun inside of a Slurm job finds Slurm's variables of the batch step too.
constexpr std::array launchers = {
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
             "PMIX_NAMESPACE"},
    Launcher{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"},
    Launcher{"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "", "FLUX_JOB_ID"},
    Launcher{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "", "SLURM_JOB_ID"},
    Launcher{"PMIx", "PMIX_RANK", "", "", "PMIX_NAMESPACE"},  // which tells no size
};

int number_of(const ReadVariable& get, const char* name, int least) {
  const std::optional<std::string> text = get(name);
  int value = 0;
  const char* const end = text ? text->data() + text->size() : nullptr;
  if (text) {
    const auto parsed = std::from_chars(text->data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end && value >= least) return value;
  }
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} is {}, which is no {}: unset it, or set XTUNE_STUDY=off to run on one's own", name,
                          text ? "\"" + printable(*text, 40) + "\"" : "not set", least > 0 ? "count" : "rank"));
}

/// Of "4(x2),3" the number of this node's tasks: all nodes' are the same as far as anybody needs to know, so the
/// largest.
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

/// A job that was requeued is another study: what its first attempt claimed must not hold up the second.
std::string study_of_slurm(const ReadVariable& get, const std::string& job) {
  std::string study = "slurm-" + job;
  for (const char* name : {"SLURM_STEP_ID", "SLURM_RESTART_COUNT"})
    if (const auto value = get(name)) study += (name[6] == 'S' ? "." : "-r") + *value;
  return study;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<Rank> find_rank(const ReadVariable& get) {
  const std::optional<std::string> named = get("XTUNE_STUDY");
  if (named == "off") return std::nullopt;
  for (const Launcher& launcher : launchers) {
    const bool slurm = std::string_view(launcher.name) == "Slurm";
    // A batch script's own shell has a rank and a size too; only steps have several processes.
    if (!get(launcher.rank) || (slurm && !get("SLURM_STEP_ID"))) continue;
    Rank rank;
    rank.launcher = launcher.name;
    rank.rank = number_of(get, launcher.rank, 0);
    rank.size = *launcher.size ? number_of(get, launcher.size, 1) : std::max(rank.rank + 1, 2);
    if (rank.rank >= rank.size)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}={} among {}={} processes: unset both, or set XTUNE_STUDY=off to run on one's own",
                              launcher.rank, rank.rank, launcher.size, rank.size));
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
      rank.study = study_of_slurm(get, *job);
    else if (job)
      rank.study = launcher.name + ("-" + *job);
    else if (const auto allocation = get("SLURM_JOB_ID"))
      rank.study = fmt::format("{}-in-slurm-{}", launcher.name, *allocation);
    else
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} started {} processes and does not say of which job they are: name it, as in "
                              "XTUNE_STUDY=$(date +%s) (the same for all of them), or XTUNE_STUDY=off",
                              launcher.name, rank.size));
    return rank;
  }
  return std::nullopt;
}

}  // namespace xtune
