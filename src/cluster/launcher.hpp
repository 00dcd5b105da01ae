// Which of several processes of one job this is, as its launcher says in the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace xtune::cluster {

/// A process among those that one launcher command started.
struct Rank {
  std::string launcher;  ///< "Slurm"
  int rank = 0, size = 1;
  int local_size = 1;  ///< processes of the job on this node
  std::string study;   ///< the same for all processes of one job, and for no other job
};

/// The value of an environment variable; nullopt where it is unset or empty.
using ReadVariable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// srun, mpirun of Open MPI and of those that speak PMI (MPICH, Intel MPI, Cray), PMIx, and flux run. nullopt: no
/// launcher, or one that started one process only. XTUNE_STUDY names the study, whatever the launcher says; with
/// XTUNE_STUDY=off processes have nothing to do with each other. Throws Error(invalid_argument) for variables that make
/// no sense, and where processes cannot tell which job they are of.
/// Sources: srun(1), "OUTPUT ENVIRONMENT VARIABLES"; mpirun(1) of Open MPI, "Exported ReadVariable Variables"; MPICH's
/// PMI documentation; flux-environment(7).
std::optional<Rank> find_rank(const ReadVariable& get = environment_variable);

}  // namespace xtune::cluster
