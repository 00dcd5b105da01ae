// Reads the environment variables of launchers.
#include "cluster/launcher.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cluster/batch_system.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {
namespace {

struct LauncherVariables {
  std::string name, rank, size, local_size, job;
  const BatchSystem* system = nullptr;  ///< that starts the processes itself
};

// The more specific first: Open MPI's mpirun inside of a batch job also sees the variables of the batch system.
std::vector<LauncherVariables> launchers() {
  std::vector<LauncherVariables> list{
      {"xtune submit", "XTUNE_RANK", "XTUNE_RANKS", "XTUNE_LOCAL_RANKS", ""},
      {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},
      {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"}};
  const std::vector<BatchSystem>& systems = batch_systems();
  for (auto each = systems.rbegin(); each != systems.rend(); ++each)
    if (!each->rank.rank.empty()) list.push_back({each->name, each->rank.rank, each->rank.size, "", "", &*each});
  list.push_back({"PMIx", "PMIX_RANK", "", "", "PMIX_NAMESPACE"});  // has no size
  return list;
}

int number_of(const ReadVariable& get, const std::string& name, int least) {
  const std::optional<std::string> text = get(name.c_str());
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
  if (launcher.size.empty()) return rank < 2 ? 2 : rank < INT_MAX ? rank + 1 : rank;
  if (!get(launcher.size.c_str()))
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is set, and {} is not set: unset both, or set XTUNE_STUDY=off to run without a study",
                            launcher.rank, launcher.size));
  return number_of(get, launcher.size, 1);
}

/// Whether PMI's variables are those of the batch system's own start command (srun --mpi=pmi2, flux run), which sets
/// more. MPICH's mpirun starts one task of it on each node, and several processes in it.
bool is_of_batch_system(const ReadVariable& get, const LauncherVariables& launcher) {
  const auto is_same = [&](const BatchSystem& system) {
    const BatchSystem::Rank& rank = system.rank;
    return !rank.rank.empty() && (rank.also.empty() || get(rank.also.c_str())) && get(rank.size.c_str()) &&
           get(launcher.rank.c_str()) == get(rank.rank.c_str()) && get(launcher.size.c_str()) == get(rank.size.c_str());
  };
  return launcher.name == "PMI" && std::any_of(batch_systems().begin(), batch_systems().end(), is_same);
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

/// Processes on one node, by a batch system's variables.
int local_size_of(const ReadVariable& get, const BatchSystem::Rank& variables, int size) {
  const auto value = [&get](const std::string& name) { return name.empty() ? std::nullopt : get(name.c_str()); };
  if (const auto counts = value(variables.local_sizes)) return largest_of(*counts);
  if (!value(variables.nodes)) return 1;
  const int nodes = number_of(get, variables.nodes, 1);
  return (size + nodes - 1) / nodes;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<Rank> find_rank(const ReadVariable& get) {
  const std::optional<std::string> named = get("XTUNE_STUDY");
  if (named == "off") return std::nullopt;
  const std::vector<LauncherVariables> all = launchers();
  for (const LauncherVariables& launcher : all) {
    const BatchSystem::Rank* const own = launcher.system ? &launcher.system->rank : nullptr;
    const bool absent = own && !own->also.empty() && !get(own->also.c_str());
    if (!get(launcher.rank.c_str()) || absent || is_of_batch_system(get, launcher)) continue;
    Rank rank;
    rank.launcher = launcher.name;
    rank.rank = number_of(get, launcher.rank, 0);
    rank.size = size_of(get, launcher, rank.rank);
    if (rank.rank >= rank.size)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}={} among {}{}{} processes: unset {}, or set XTUNE_STUDY=off to run without a study",
                              launcher.rank, rank.rank, launcher.size, launcher.size.empty() ? "" : "=", rank.size,
                              launcher.size.empty() ? "it" : "both"));
    if (rank.size == 1) return std::nullopt;
    if (own) {
      rank.local_size = local_size_of(get, *own, rank.size);
    } else if (!launcher.local_size.empty() && get(launcher.local_size.c_str())) {
      rank.local_size = number_of(get, launcher.local_size, 1);
    }
    // A requeued job is another study: claims of its first attempt must not block the second.
    const auto allocation = current_job(get);
    const std::string attempt = allocation && !allocation->restart.empty() ? "-r" + allocation->restart : "";
    const std::string of_system = own ? fill_variables(own->study, get).value_or("") : "";
    if (named)
      rank.study = *named;
    else if (!of_system.empty())
      rank.study = of_system + attempt;
    else if (const auto job = launcher.job.empty() ? std::nullopt : get(launcher.job.c_str()))
      rank.study = launcher.name + ("-" + *job) + attempt;
    else if (allocation)
      rank.study = fmt::format("{}-in-{}-{}{}", launcher.name, allocation->system->id, allocation->id, attempt);
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
