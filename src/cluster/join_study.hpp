// A process' place among those of its job, and the name of what they share.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::cluster {

/// The study that a process joins: the one of that name or, where somebody has sat in this place before, the first one
/// after it that has the place free, "name+2", "name+3" ...: a name that is used again is another run, which measures
/// what is asked of it and gives its own answer. place: which process of the run this is, the same for no other.
/// Makes <store>/studies/<study>/seats/<place>. Throws Error(io).
std::string join_study(const std::filesystem::path& store, const std::string& study, const std::string& place);

/// Whether a study is of that name, in whichever run.
bool is_run_of(const std::string& study, const std::string& name);

}  // namespace xtune::cluster
