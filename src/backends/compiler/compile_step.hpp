// One run of a C++ compiler for a compile request, and its outcome for the configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "system/subprocess.hpp"

namespace xtune::compiler {

/// Of a command.
using Words = std::vector<std::string>;
inline void append(Words& to, const Words& from) { to.insert(to.end(), from.begin(), from.end()); }

/// Throws CandidateFailure(compile_failed) for an entry that is neither a function's name nor a template-id, and for
/// such a variable.
void check_names(const build::CompileRequest& request);
/// -I for the request's directories, -iquote for that of its source.
std::vector<std::string> include_flags(const build::CompileRequest& request);
/// Runs in the caller's process group, so that killing a compile worker also kills the compiler. `folder` is its
/// working directory, also for temporary files. Throws Error(unavailable) if it cannot be started.
system::CommandResult run_compiler(const std::vector<std::string>& arguments, std::string input,
                                   const std::filesystem::path& folder);
/// Returns if the run succeeded. earlier_log: output of earlier steps. Throws CandidateFailure(compile_failed) with the
/// first error, CandidateFailure(crashed) if the compiler crashed, Error if the machine is the cause.
void require_compiled(const system::CommandResult& result, const std::string& earlier_log,
                      const build::CompileRequest& request, const std::string& compiler);

}  // namespace xtune::compiler
