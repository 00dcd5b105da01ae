// A source with all the files that it includes.
#pragma once

#include <filesystem>
#include <map>
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

struct ScannedFile {
  std::string digest;
  SourceScan scan;
};
/// By canonical path.
using ScannedFiles = std::map<std::filesystem::path, ScannedFile>;

/// The canonical text alone, of one source of several: what is in `read` is not read again, and what is read is added.
/// quoted_dirs: searched for quoted includes alone, before include_dirs.
std::string source_closure_text(const CompileRequest& request, const std::vector<std::string>& quoted_dirs,
                                ScannedFiles& read);

/// Folders and files that a compiler's options name (-I, --include-path, -isystem; -iquote; -include, --pre-include):
/// they decide what is included as much as include_dirs do.
struct IncludeOptions {
  std::vector<std::string> folders, quoted, forced;
};
IncludeOptions include_options(const std::vector<std::string>& options);

}  // namespace xtune
