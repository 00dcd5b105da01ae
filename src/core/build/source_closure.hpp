// A source with all the files that it includes.
#pragma once

#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/include_scan.hpp"

namespace xtune {

struct SourceClosure {
  std::string canonical_text;     ///< a JSON list of digests and names: what source_digest (keys.hpp) hashes
  std::vector<SourceScan> files;  ///< the source, then each file once, in the order of first mention
  bool of_toolchain = false;      ///< some include was found nowhere: a header of the toolchain's
};

/// Resolves as source_digest says. Throws Error(io) when a file cannot be read.
SourceClosure source_closure(const CompileRequest& request);

/// Folders and files that a compiler's options name (-I, --include-path, -isystem; -include, --pre-include): they
/// decide what is included as much as include_dirs do.
struct IncludeOptions {
  std::vector<std::string> folders, forced;
};
IncludeOptions include_options(const std::vector<std::string>& options);

}  // namespace xtune
