// The place of this process in a job, from its launcher's environment variables.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace xtune::cluster {

/// A process among those started by one launcher command.
struct Rank {
  std::string launcher;  ///< "Open MPI"
  int rank = 0, size = 1;
  int local_size = 1;  ///< processes of the job on this node
  std::string study;   ///< the same for all processes of one job, different for other jobs
};

/// The value of an environment variable; nullopt where it is unset or empty.
using ReadVariable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// Supports mpirun of Open MPI and of launchers that use PMI (MPICH, Intel MPI, Cray), PMIx, and the start commands of
/// batch systems that number their processes.
/// nullopt: no launcher, or one that started only one process. XTUNE_STUDY names the study, regardless of the launcher;
/// with XTUNE_STUDY=off processes are independent. Throws Error(invalid_argument) for invalid variables, and if
/// processes cannot find out to which job they belong. Sources: mpirun(1) of Open MPI, "Exported Environment
/// Variables"; MPICH's PMI documentation.
std::optional<Rank> find_rank(const ReadVariable& get = environment_variable);

}  // namespace xtune::cluster
