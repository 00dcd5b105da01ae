// A compile whose result matches its key: made by that compiler, from those files.
#pragma once

#include <string>

#include "core/build/artifact.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

/// The compiler is not the one in the key: the facts about compilers that this machine remembers are out of date.
class ToolchainChanged : public Error {
 public:
  ToolchainChanged(const std::string& expected, const std::string& found);
};

/// toolchain.compile(request), with Artifact::toolchain set. Compiles a second time if files were written meanwhile
/// with the same content. Throws the errors of compile; Error(io) with the file's name if one of request.files changed,
/// or if the compiler read a file that the key does not describe; and ToolchainChanged. After these two, the compiler's
/// result, even a failure, does not belong to any configuration.
Artifact compile_checked(Toolchain& toolchain, const CompileRequest& request);

}  // namespace xtune::build
