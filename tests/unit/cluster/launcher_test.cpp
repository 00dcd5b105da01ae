// Tests of what launchers leave in the environment.
#include "cluster/launcher.hpp"

#include <doctest/doctest.h>

#include <map>

#include "xtune/error.hpp"

using namespace xtune::cluster;

namespace {

using namespace xtune;
using Variables = std::map<std::string, std::string>;

std::optional<Rank> rank_of(const Variables& variables) {
  return find_rank([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string complaint(const Variables& variables) {
  try {
    rank_of(variables);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

const Variables srun = {{"SLURM_JOB_ID", "17"},
                        {"SLURM_STEP_ID", "2"},
                        {"SLURM_PROCID", "3"},
                        {"SLURM_NTASKS", "4"},
                        {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

}  // namespace

TEST_CASE("Each launcher's variables tell rank, size and job") {
  const auto slurm = rank_of(srun);
  REQUIRE(slurm);
  CHECK(slurm->rank == 3);
  CHECK(slurm->size == 4);
  CHECK(slurm->local_size == 2);
  CHECK(slurm->study == "slurm-17.2");
  const auto openmpi = rank_of({{"OMPI_COMM_WORLD_RANK", "1"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                {"PMIX_NAMESPACE", "prterun-n1-77@1"},
                                {"PMIX_RANK", "1"}});
  REQUIRE(openmpi);
  CHECK(openmpi->launcher == "Open MPI");
  CHECK(openmpi->size == 8);
  CHECK(openmpi->local_size == 4);
  CHECK(openmpi->study == "Open MPI-prterun-n1-77@1");
  CHECK(rank_of({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}, {"FLUX_JOB_ID", "f1"}})->study == "Flux-f1");
  const auto pmi = rank_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"XTUNE_STUDY", "mine"}});
  CHECK(pmi->study == "mine");
  CHECK(pmi->size == 3);
}

TEST_CASE("Open MPI within a Slurm job is Open MPI's to number; a requeued job is another study") {
  // Every process finds the variables of the one task that started Open MPI's daemon.
  const auto inside = rank_of(with(srun, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
  CHECK(inside->rank == 0);
  CHECK(inside->size == 2);
  CHECK(inside->study == "Open MPI-in-slurm-17");
  CHECK(rank_of(with(srun, {{"SLURM_RESTART_COUNT", "1"}}))->study == "slurm-17.2-r1");
}

TEST_CASE("PMI's variables of srun --mpi=pmi2 are Slurm's; those of an mpirun on Slurm's nodes are not") {
  const auto pmi2 = rank_of(with(srun, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_JOBID", "17.2"}}));
  CHECK(pmi2->launcher == "Slurm");
  CHECK(pmi2->study == "slurm-17.2");
  CHECK(pmi2->local_size == 2);
  const auto hydra =
      rank_of(with(srun, {{"PMI_RANK", "3"}, {"PMI_SIZE", "16"}, {"PMI_JOBID", "kvs"}, {"SLURM_RESTART_COUNT", "2"}}));
  CHECK(hydra->launcher == "PMI");
  CHECK(hydra->size == 16);
  CHECK(hydra->study == "PMI-kvs-r2");
}

TEST_CASE("One process, a batch script, and XTUNE_STUDY=off have no peers") {
  CHECK_FALSE(rank_of({}));
  CHECK_FALSE(rank_of(with(srun, {{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}})));
  CHECK_FALSE(rank_of(with(srun, {{"XTUNE_STUDY", "off"}})));
  Variables script = srun;
  script.erase("SLURM_STEP_ID");
  CHECK_FALSE(rank_of(script));
}

TEST_CASE("Variables that make no sense are named, with what to do") {
  CHECK(complaint(with(srun, {{"SLURM_PROCID", "three"}})).find("SLURM_PROCID is \"three\"") != std::string::npos);
  CHECK(complaint(with(srun, {{"SLURM_PROCID", "4"}})).find("SLURM_PROCID=4 among SLURM_NTASKS=4") !=
        std::string::npos);
  CHECK(complaint(with(srun, {{"SLURM_NTASKS", "99999999999"}})).find("SLURM_NTASKS") != std::string::npos);
  CHECK(complaint({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}).find("XTUNE_STUDY=") != std::string::npos);
  CHECK(complaint({{"PMI_RANK", "0"}}).find("PMI_SIZE is not set") != std::string::npos);
  CHECK(complaint({{"PMI_RANK", "0"}}).find("unset both") != std::string::npos);
  CHECK(
      complaint({{"PMIX_RANK", "2147483647"}, {"PMIX_NAMESPACE", "x"}}).find("among 2147483647 processes: unset it") !=
      std::string::npos);
}
