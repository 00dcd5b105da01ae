// A process's place among those of its job, and the name of their shared study.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::cluster {

/// The study that a process joins: the one of that name or, if another process has taken this place before, the first
/// free one of "name+2", "name+3" ...: a name that is used again belongs to another run, which measures again and gives
/// its own answer. place: identifies this process in the run. Creates <store>/studies/<study>/seats/<place>. Throws
/// Error(io).
std::string join_study(const std::filesystem::path& store, const std::string& study, const std::string& place);

/// Whether a study has that name, in any run.
bool is_run_of(const std::string& study, const std::string& name);

}  // namespace xtune::cluster
