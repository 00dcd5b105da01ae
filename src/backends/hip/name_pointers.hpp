// Lowered names of kernels and variables, by pointers to them that are added to the source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::hip {

/// Source text with a pointer to each name: one on the device, whose relocation shows the lowered name, and one on the
/// host, which exports a static variable. Line-marked, so that a message about one has its number.
std::string pointers_text(const std::vector<std::string>& names);

/// What is wrong with a name, where the compiler's first error is in the text above; empty: it is elsewhere. names: as
/// above; the request's variables are the last.
std::string wrong_name(const std::vector<std::string>& names, const build::CompileRequest& request,
                       std::string_view error);

/// The lowered names, from an artifact with its image. Throws CandidateFailure(compile_failed) for a name that no
/// exported symbol has.
std::vector<std::string> lowered_names(const std::vector<std::string>& names, const build::Artifact& artifact,
                                       const build::CompileRequest& request);

}  // namespace xtune::hip
