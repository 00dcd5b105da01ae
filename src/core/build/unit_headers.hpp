// Compiles with a request's own texts of headers in the place of the files that they stand for.
#pragma once

#include <functional>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// Makes a tree of the headers' directories where CompileRequest::headers are files and the others are links, and calls
/// `compile` with a request that is searched there first. Messages, logs and lists of files name the user's files.
/// Without such texts, compile(request).
Artifact compile_with_headers(const CompileRequest& request,
                              const std::function<Artifact(const CompileRequest&)>& compile);

}  // namespace xtune::build
