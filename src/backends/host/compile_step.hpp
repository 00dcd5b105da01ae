// One run of the system's C++ compiler for a compile request, and what its end says of the configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/subprocess.hpp"
#include "core/build/artifact.hpp"

namespace xtune::host {

/// Throws CandidateFailure(compile_failed) for an entry that is neither a function's name nor a template-id, and for
/// such a variable.
void check_names(const build::CompileRequest& request);
/// -I for the request's folders, -iquote for that of its source.
std::vector<std::string> include_flags(const build::CompileRequest& request);
/// In the caller's process group, so that whoever kills a compile worker kills the compiler with it. `folder` is its
/// working folder and takes its temporary files. Throws Error(unavailable) when it cannot be started.
base::CommandResult run_compiler(const std::vector<std::string>& arguments, std::string input,
                                 const std::filesystem::path& folder);
/// Returns when the run was good. earlier_log: what earlier steps wrote. Throws CandidateFailure(compile_failed) with
/// the first error, CandidateFailure(crashed) when the compiler broke down, Error where the machine is to blame.
void require_compiled(const base::CommandResult& result, const std::string& earlier_log,
                      const build::CompileRequest& request, const std::string& compiler);

}  // namespace xtune::host
