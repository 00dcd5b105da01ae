// A compile whose result matches its key: made by that compiler, from those files.
#pragma once

#include <string>

#include "core/build/artifact.hpp"
#include "core/build/manifest.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

/// The compiler is not the one in the key: the facts about compilers that this machine remembers are out of date.
class ToolchainChanged : public Error {
 public:
  ToolchainChanged(const std::string& expected, const std::string& found);
};

/// The key of a compile, which is known when it has ended, successfully or not.
struct CompileKey {
  std::string key;    ///< empty: the request has no base_key, and its key is fixed
  ManifestNow reads;  ///< besides the request's files
};

/// toolchain.compile(request), with Artifact::toolchain set. Compiles once more if files were written meanwhile with
/// the same content, or if it read files that were not known before to count. The key of a compile whose files
/// are unknown is valid in this run only. Throws the errors of compile; Error(io) with the file's name if one of
/// request.files changed, or another one changes repeatedly; and ToolchainChanged. After these two, the compiler's
/// result, even a failure, does not belong to any configuration. key: set also if CandidateFailure is thrown.
Artifact compile_checked(Toolchain& toolchain, const CompileRequest& request, CompileKey* key = nullptr);

}  // namespace xtune::build
