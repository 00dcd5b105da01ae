// A compile whose result is what its key says: made by that compiler, from those files.
#pragma once

#include <string>

#include "core/build/artifact.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

/// The compiler at hand is not the one that the key names: what this machine remembers of its compilers is out of date.
class ToolchainChanged : public Error {
 public:
  ToolchainChanged(const std::string& expected, const std::string& found);
};

/// toolchain.compile(request), with Artifact::toolchain set. Files that were written meanwhile with the same content
/// cost a second compile. Throws as compile does, but Error(io) that names the file where one of request.files is not
/// what it was, or where the compiler read one that the key does not describe, and ToolchainChanged: whatever the
/// compiler made then, a failure too, is of no configuration.
Artifact compile_checked(Toolchain& toolchain, const CompileRequest& request);

}  // namespace xtune::build
